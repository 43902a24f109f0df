"""Which files of a tree are Python source that somebody here wrote."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache

from ...contracts.errors import ContractLintError
from .ignored import Ignored

SUFFIXES = (".py", ".ipynb")
VENDORED = frozenset(
    {"site-packages", "node_modules", "vendor", "_vendor", "vendored", "_vendored", "third_party", "third-party"}
)
BUILT = frozenset({"__pycache__", "__pypackages__", "build", "dist", "_build", "buck-out", "venv", "env"})
GENERATED = ("_pb2.py", "_pb2_grpc.py")
EXAMPLES = 3
"""Skipped folders of one kind that a note names."""


@dataclass(frozen=True, slots=True)
class Found:
    """The files to check, in a fixed order, a note for each kind of thing that was passed over, and absolute paths."""

    files: tuple[str, ...]
    notes: tuple[str, ...] = ()
    real: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class _Skipped:
    """What was passed over, with the reason as a note words it."""

    why: str
    path: str
    is_folder: bool


def find_sources(paths: Iterable[str], exclude: Callable[[str], bool] = lambda path: False) -> Found:
    """The `.py` and `.ipynb` files that are named, and those below the folders that are named.

    A file named by itself is taken whatever it is called or ignored by, if its name ends as source does. Below a
    folder, hidden folders, virtual environments, vendored and built trees, what git ignores, generated protocol
    buffers, and what `exclude` says of a path are passed over. Symbolic links are followed, each folder and file once.
    Paths are returned as given, joined with `/`. Raises ContractLintError for a path that does not exist.
    """
    taken: dict[str, str] = {}
    skipped: list[_Skipped] = []
    for path in paths:
        if os.path.isdir(path):
            for file, real in _below(path, exclude, skipped):
                taken.setdefault(real, file)
        elif not os.path.lexists(path):
            raise ContractLintError(f"{_posix(path)} does not exist", help="name files or folders")
        elif path.endswith(SUFFIXES):
            taken.setdefault(os.path.realpath(path), _posix(path))
    real = {shown: real for real, shown in taken.items()}
    return Found(tuple(sorted(real)), tuple(_notes(skipped)), real)


def excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a shell pattern matches the path as given, any folder above it, or its name.

    `./b.py` is `b.py`, `old/` is `old`, and `**/` stands for no folder too.
    """
    if not patterns:
        return False
    parts = os.path.normpath(path).replace(os.sep, "/").split("/")
    above = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return any(
        fnmatch(parts[-1], spelled) or any(fnmatch(each, spelled) for each in above)
        for pattern in patterns
        for spelled in _spellings(pattern)
    )


@cache
def _spellings(pattern: str) -> tuple[str, ...]:
    if not pattern.strip("./"):
        return ("*",) if pattern.strip() else ()  # the folder itself
    plain = posixpath.normpath(pattern)
    without = plain.removeprefix("**/").replace("/**/", "/")
    return (plain,) if without == plain else (plain, without)


def _below(top: str, exclude: Callable[[str], bool], skipped: list[_Skipped]) -> Iterator[tuple[str, str]]:
    """Each file below `top` as (shown path, real path). Depth first, names in order; no recursion, no folder twice."""
    real_top = os.path.realpath(top)
    ignored = Ignored(real_top)
    seen: set[tuple[int, int]] = set()
    waiting = [("" if top in (".", "./") else _posix(top).rstrip("/") + "/", real_top)]
    # What a link leads to is called by its own name, if that is below `top` too: links come last.
    linked: list[tuple[str, str]] = []
    while waiting or linked:
        shown, real = waiting.pop() if waiting else linked.pop(0)
        if not os.path.isdir(real):
            yield shown, real
            continue
        try:
            here = os.stat(real)
            if (here.st_dev, here.st_ino) in seen:
                continue
            seen.add((here.st_dev, here.st_ino))
            with os.scandir(real) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            skipped.append(_Skipped(f"that cannot be read ({error.strerror})", shown, True))
            continue
        folders = []
        for entry in entries:
            name, path = shown + entry.name, os.path.join(real, entry.name)
            is_folder = _is_folder(entry)
            if not is_folder and not entry.name.endswith(SUFFIXES):
                continue
            why = _folder_skipped(entry.name, path) if is_folder else _file_skipped(entry.name)
            if why is None and exclude(name):
                why = ""
            if why is None and ignored(path, is_folder):
                why = ""
            if why is not None:
                skipped.append(_Skipped(why, name, is_folder))
            elif entry.is_symlink():
                linked.append((name + "/" * is_folder, os.path.realpath(path)))
            elif is_folder:
                folders.append((name + "/", path))
            else:
                yield name, path
        waiting.extend(reversed(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _folder_skipped(name: str, path: str) -> str | None:
    """Why a folder is not entered; "" where nobody needs to be told."""
    if name.startswith(".") or name == "__pycache__":
        return ""
    if os.path.isfile(os.path.join(path, "pyvenv.cfg")):
        return ""
    if name in VENDORED:
        return "of vendored code"
    if name in BUILT and not os.path.isfile(os.path.join(path, "__init__.py")):
        return "of built files"
    return None


def _file_skipped(name: str) -> str | None:
    return "that are generated" if name.endswith(GENERATED) else None


def _notes(skipped: list[_Skipped]) -> Iterator[str]:
    """`skipped 2 folders of vendored code (third_party, x/vendor)`: what somebody could miss, by kind."""
    kinds = Counter((each.why, each.is_folder) for each in skipped if each.why)
    for (why, is_folder), count in kinds.items():
        names = [each.path.rstrip("/") or "." for each in skipped if (each.why, each.is_folder) == (why, is_folder)]
        more = f" and {count - EXAMPLES} more" if count > EXAMPLES else ""
        noun = ("folder" if is_folder else "file") + ("" if count == 1 else "s")
        yield f"skipped {count:,} {noun} {why}: {', '.join(names[:EXAMPLES])}{more}; name one to check it"


def _posix(path: str) -> str:
    return os.path.normpath(path).replace(os.sep, "/")
