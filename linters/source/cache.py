"""What was found last time, of each file of a project: a summary, the findings, what the program knew of it.

Two files for each project: a run that looked at all writes the first, runs after few files changed write what they
found into the second, which counts only beside the first that it was written for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from .stored import Entry, Stored, Written, raw, write

FOLDER = ".contract-lint"
NAME = "source.cache"
FORMAT = b"contract-lint source cache 3"
MOST_ENTRIES = 50_000
MOST_SINCE = 64
"""Entries of the second file; with more of them the first is written again."""


class Cache:
    """The entries of one project, by the absolute path of the file. `program` names that for which they all hold."""

    def __init__(self, path: str, stamp: str) -> None:
        self._path, self._head = path, FORMAT + b" " + stamp.encode() + b"\n"
        self._first = Stored(path, self._head)
        self._since = Stored(self._second, self._head_of_second(self._first.total))
        self._new: dict[str, Entry] = {}
        self._changed = False
        self.program: str = self._first.told if isinstance(self._first.told, str) else ""
        self._read_program = self.program

    @property
    def _second(self) -> str:
        return f"{self._path}.since"

    def _head_of_second(self, total: str) -> bytes:
        return self._head + f"since {total}\n".encode()

    def get(self, file: str, digest: str | None = None) -> Entry | None:
        """What is known of a file, if its content has this digest."""
        found = self._new.get(file)
        if found is None:
            known = self.short(file)
            if known is None or (digest is not None and known[0] != digest):
                return None
            found = self._of(file).get(file)
        return found if found is None or digest is None or found.digest == digest else None

    def short(self, file: str) -> tuple[str, Any, Any, list[int] | None] | None:
        """The digest of a file's content when it was last read, what its summary says in short, its findings, and what
        the file system said of it then."""
        found = self._new.get(file)
        if found is not None:
            return found.digest, found.small, found.findings, found.state
        return self._of(file).short(file)

    def state(self, file: str) -> tuple[str, list[int]] | None:
        """The digest and state of a file, where it may be left unread."""
        known = self.short(file)
        return (known[0], known[3]) if known is not None and known[3] is not None else None

    def words(self, file: str) -> bytes | None:
        """The words that a file wrote; None where that is not known."""
        found = self._new.get(file)
        return found.words if found is not None else self._of(file).words(file)

    def _of(self, file: str) -> Stored:
        return self._since if file in self._since else self._first

    def put(self, file: str, entry: Entry) -> None:
        """Keeps what is now known of a file."""
        if self.get(file) != entry:
            self._new[file] = entry
            self._changed = True

    def note(self, file: str, state: list[int]) -> None:
        """Keeps what the file system says of a file whose content is what it was."""
        known = self.short(file)
        if known is not None and known[3] != state and (entry := self.get(file)) is not None:
            self._new[file] = replace(entry, state=state)
            self._changed = True

    def save(self, whole: bool = True) -> None:
        """Writes what changed, if anything did; never fails. `whole`: all files of the project were looked at, and what
        is gone is forgotten."""
        if not self._changed and self.program == self._read_program:
            return
        self._changed, self._read_program = False, self.program
        since = [*self._since, *(each for each in self._new if each not in self._since)]
        if not whole and self._first.total and len(since) <= MOST_SINCE:
            write(self._second, self._head_of_second(self._first.total), None, self._written(since))
            return
        kept = [*self._first, *(each for each in since if each not in self._first)]
        kept = [file for file in kept if not whole or os.path.exists(file)][-MOST_ENTRIES:]
        write(self._path, self._head, self.program, self._written(kept))
        with suppress(OSError):
            os.unlink(self._second)

    def _written(self, files: Iterable[str]) -> Iterable[tuple[str, Written]]:
        for file in files:
            entry = self._new.get(file)
            yield file, raw(entry) if entry is not None else self._of(file).raw(file)


def cache_file(root: str) -> str:
    """Where the cache of the project in the folder `root` is."""
    return os.path.join(root, FOLDER, NAME)


def stamp(*parts: str) -> str:
    """The name of what all entries depend on: this program's own files, as they are now, and `parts`."""
    from ... import __version__

    folder = os.path.dirname(os.path.abspath(__file__))
    seen = blake2b("\0".join((__version__, *parts)).encode("utf-8", "surrogatepass"), digest_size=12)
    for place in sorted(_folders(folder)):
        with os.scandir(place) as entries:
            for name, about in sorted((e.name, e.stat()) for e in entries if e.name.endswith(".py")):
                seen.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
    return seen.hexdigest()


def _folders(top: str) -> Iterable[str]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(folder) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir() and entry.name != "__pycache__"]
