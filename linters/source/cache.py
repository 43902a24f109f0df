"""What was found last time, of each file of a project: a summary, the findings, what the program knew of it.

One file for each project. Behind a first line that says for which version it was written come the large parts, one
after another; they are taken up when they are asked for. What is asked of every file, with the place of its
large parts, is in the index at the end. Whatever is wrong with it, it is as if there were none: another version's
stamp, a sum that does not add up, a folder that cannot be written. It is replaced in one step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

FOLDER = ".contract-lint"
NAME = "source.cache"
FORMAT = b"contract-lint source cache 2"
MOST_ENTRIES = 50_000
_END = 37
"""Bytes of the last line: where the index begins, its sum."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one file: `digest` of its content, what its summary says in short (`small`; None for a file that
    cannot be parsed) and in full (`summary`, packed), and its `findings`, packed, which hold while what they use of
    other files has the digest `outside`. `linked` is what the program knew of it."""

    digest: str
    small: Any = None
    summary: bytes = b""
    outside: str = ""
    findings: Any = None
    linked: bytes = b""


class Cache:
    """The entries of one project, by the absolute path of the file. `program` names that for which they all hold."""

    def __init__(self, path: str | None, stamp: str) -> None:
        self._path, self._head = path, FORMAT + b" " + stamp.encode() + b"\n"
        self._data = b""
        self._index: dict[str, list[Any]] = {}
        self._new: dict[str, Entry] = {}
        self.program = ""
        self._read_program = ""
        if path is not None:
            with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
                self._read(path)

    def get(self, file: str, digest: str | None = None) -> Entry | None:
        """What is known of a file, if its content has this digest."""
        found = self._new.get(file)
        if found is None:
            at = self._index.get(file)
            if at is None or (digest is not None and at[0] != digest):
                return None
            try:
                known, small, outside, findings, summary, linked = at
                found = Entry(known, small, self._part(summary), outside, findings, self._part(linked))
            except (ValueError, TypeError):
                return None
        return found if digest is None or found.digest == digest else None

    def short(self, file: str) -> tuple[str, Any, Any] | None:
        """The digest of a file's content when it was last read, what its summary says in short, its findings."""
        at = self._index.get(file)
        return (at[0], at[1], at[3]) if at is not None else None

    def put(self, file: str, entry: Entry) -> None:
        """Keeps what is now known of a file."""
        if self.get(file) != entry:
            self._new[file] = entry

    def save(self, tidy: bool = True) -> None:
        """Writes the file if anything changed, in one step. Never fails. `tidy`: files that are gone are forgotten."""
        if self._path is None or not (self._new or self.program != self._read_program):
            return
        kept = [file for file in (*self._index, *(each for each in self._new if each not in self._index))]
        kept = [file for file in kept if not tidy or os.path.exists(file)][-MOST_ENTRIES:]
        part = f"{self._path}.{os.getpid()}.part"
        try:
            _make_folder(os.path.dirname(self._path))
            with open(part, "wb") as out:
                self._write(out, kept)
            os.replace(part, self._path)
        except (OSError, ValueError):
            with suppress(OSError):
                os.unlink(part)

    def _write(self, out: Any, kept: list[str]) -> None:
        out.write(self._head)
        at = len(self._head)
        index: dict[str, list[Any]] = {}
        old = self._data
        for file in kept:
            entry = self._new.get(file)
            if entry is None:
                known = list(self._index[file])
                parts = [old[place[0] : place[0] + place[1]] if place else b"" for place in known[4:]]
                sums = [place[2] if place else "" for place in known[4:]]
            else:
                known = [entry.digest, entry.small, entry.outside, entry.findings, None, None]
                parts = [entry.summary, entry.linked]
                sums = [_sum(each) for each in parts]
            for number, (part, total) in enumerate(zip(parts, sums, strict=True), 4):
                known[number] = [at, len(part), total] if part else None
                out.write(part)
                at += len(part)
            index[file] = known
        told = json.dumps([self.program, index], separators=(",", ":")).encode()
        out.write(told)
        out.write(f"\n{at:019d} {_sum(told)}".encode())

    def _read(self, path: str) -> None:
        with open(path, "rb") as file:
            data = file.read()
        if not data.startswith(self._head):
            return
        at, _, total = data[-_END:].decode("ascii").strip().partition(" ")
        told = data[int(at) : -_END]
        if total == _sum(told):
            self.program, self._index = json.loads(told)
            self._read_program = self.program
            self._data = data

    def _part(self, place: Any) -> bytes:
        """A large part. Raises ValueError where it is not what was written."""
        if place is None:
            return b""
        found = self._data[place[0] : place[0] + place[1]]
        if _sum(found) != place[2]:
            raise ValueError("the cache is damaged")
        return found


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
                seen.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def _folders(top: str) -> Iterable[str]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(folder) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir() and entry.name != "__pycache__"]


def _sum(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _make_folder(folder: str) -> None:
    """The folder, which git is told to ignore where it is new."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder)
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")
