"""Where captures are kept: in the project, else in the user's cache folder, else in a temporary one."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from .folders import PREFIX, made, removed

FOLDER = ".contract-lint"
CACHE = "cache"
IGNORE = ".gitignore"
_PLACE = re.compile(r".+-[0-9a-f]{12}", re.DOTALL)
Say = Callable[[str], None]


class CachePlaces:
    """The folders that may hold the captures of one project. `chosen` is the only one where the user names it."""

    def __init__(self, root: Path, chosen: Path | None = None) -> None:
        self._chosen = chosen
        self._first = first_place(root, chosen)
        self._found: Path | None = None
        others = [] if chosen is not None else [base / place_name(root) for base in _user_cache()]
        self.readable = [self._first, *others]
        """Folders to look for what is kept, in order; they need not be there."""

    def writable(self, say: Say) -> Path:
        """The folder for what is new, made on first use and kept out of version control by itself.

        `say` is told once where that is not in the project. Raises ContractLintError where a folder that was named
        takes nothing, or no place at all does.
        """
        if self._found is None or not (self._found / CACHE).is_dir():
            self._found = self._sought(say)
        return self._found

    def _sought(self, say: Say) -> Path:
        failures = []
        for folder in self.readable:
            failure = _prepared(folder)
            if failure is None:
                if folder != self._first:
                    say(f"captures and records are kept in {_shown(folder)}: {FOLDER} in the project {failures[0]}")
                return folder
            failures.append(failure)
        if self._chosen is not None:
            place = Location(self._chosen.as_posix())
            raise ContractLintError(failures[0], place, "name another folder with --cache-dir or `cache-dir`")
        try:
            temporary = made(Path(tempfile.gettempdir()), PREFIX)
            (temporary / CACHE).mkdir()
        except OSError as error:
            raise ContractLintError(
                f"there is no place for captures: {FOLDER} in the project {failures[0]}, and neither the user's cache "
                f"folder nor {tempfile.gettempdir()} can be written to ({error.strerror or error})",
                help="name a folder with --cache-dir",
            ) from None
        atexit.register(removed, temporary)
        say(
            f"captures are kept in {temporary} until this command ends: {FOLDER} in the project {failures[0]}, "
            "and the user's cache folder neither; --cache-dir names another place"
        )
        return temporary


@cache
def cache_places(root: Path, chosen: Path | None = None) -> CachePlaces:
    """The places of a project, the same for all that this process does there."""
    return CachePlaces(root, chosen)


def first_place(root: Path, chosen: Path | None) -> Path:
    """`.contract-lint` in the project, or the project's part of the folder that was chosen."""
    return root / FOLDER if chosen is None else chosen / place_name(root)


def write_whole(path: Path, text: str) -> None:
    """Write a file of ASCII: all of it or nothing is there. Raises OSError."""
    unfinished = path.with_name(f".{hashlib.sha256(path.name.encode()).hexdigest()[:16]}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text, encoding="ascii", newline="\n")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _prepared(folder: Path) -> str | None:
    """Make a folder for captures ready, with a file for git that ignores it. Why it cannot be, else None."""
    try:
        (folder / CACHE).mkdir(parents=True, exist_ok=True)
        ignore = folder / IGNORE
        if not ignore.exists():
            write_whole(ignore, "*\n")
        removed(made(folder / CACHE, "try-"))
    except OSError as error:
        return f"cannot be written to ({error.strerror or error})"
    return None


def place_name(root: Path) -> str:
    """A folder name for a project among those of others: its own name and the digest of its place."""
    return f"{root.name or 'root'}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


def is_place(folder: Path) -> bool:
    """Whether a folder is the place of some project among those of others, by its name and what was made in it."""
    return _PLACE.fullmatch(folder.name) is not None and (folder / IGNORE).is_file()


def _user_cache() -> list[Path]:
    """`$XDG_CACHE_HOME/contract-lint`, by default below `~/.cache`; nothing where there is no home folder."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return [named / "contract-lint"]
    with contextlib.suppress(RuntimeError):
        return [Path.home() / ".cache" / "contract-lint"]
    return []


def _shown(folder: Path) -> str:
    with contextlib.suppress(RuntimeError, ValueError):
        return f"~/{folder.relative_to(Path.home()).as_posix()}"
    return folder.as_posix()
