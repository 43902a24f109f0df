"""One file of kept entries: a first line, large parts one after another, and behind them the index.

The first line says for what the file was written; with another it is another's file. The index holds what is asked of
every entry, with the places of its large parts, which are taken up when they are asked for; then come where it begins
and its sum. Whatever is wrong with a file, it is as if there were none. It is replaced in one step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

_END = 37
"""Bytes of the last line: where the index begins, its sum."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one file.

    `digest` is that of its content and `state` what the file system said of it (see `seen`). What its summary says in
    short is `small` (None for a file that cannot be parsed) and in full `summary`, packed. Its `findings`, packed, hold
    while what they use of other files has the digest `outside`. `linked` is what the program knew of it, `words` the
    words that it writes.
    """

    digest: str
    small: Any = None
    summary: bytes = b""
    outside: str = ""
    findings: Any = None
    linked: bytes = b""
    words: bytes = b""
    state: list[int] | None = None


class Stored:
    """The entries in one file, by the path of the file that each is about; `told` is what the index says of all."""

    def __init__(self, path: str, head: bytes) -> None:
        self.told: Any = None
        self.total = ""
        self._data = b""
        self._rows: dict[str, list[Any]] = {}
        with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
            self._read(path, head)

    def _read(self, path: str, head: bytes) -> None:
        with open(path, "rb") as file:
            data = file.read()
        if not data.startswith(head):
            return
        at, _, total = data[-_END:].decode("ascii").strip().partition(" ")
        index = data[int(at) : -_END]
        if total == _sum(index):
            self.told, self._rows = json.loads(index)
            self._data, self.total = data, total

    def __contains__(self, file: str) -> bool:
        return file in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def short(self, file: str) -> tuple[str, Any, Any, list[int] | None] | None:
        """Digest, small summary, findings and state."""
        row = self._rows.get(file)
        return (row[0], row[1], row[3], row[4]) if row is not None else None

    def get(self, file: str) -> Entry | None:
        """The whole entry; None where a part is not what was written."""
        row = self._rows.get(file)
        if row is None:
            return None
        with suppress(ValueError, TypeError):
            digest, small, outside, findings, state, *places = row
            summary, linked, words = map(self._part, places)
            return Entry(digest, small, summary, outside, findings, linked, words, state)
        return None

    def words(self, file: str) -> bytes | None:
        """The words alone; None where they are not what was written."""
        row = self._rows.get(file)
        if row is None:
            return None
        with suppress(ValueError, TypeError, LookupError):
            return self._part(row[7])
        return None

    def _part(self, place: Any) -> bytes:
        """A large part. Raises ValueError where it is not what was written."""
        if place is None:
            return b""
        found = self._data[place[0] : place[0] + place[1]]
        if _sum(found) != place[2]:
            raise ValueError("the cache is damaged")
        return found

    def raw(self, file: str) -> tuple[list[Any], list[tuple[bytes, str]]]:
        """A row and its parts with their sums, to be written again as they are."""
        row = self._rows[file]
        return row[:5], [(self._data[at[0] : at[0] + at[1]], at[2]) if at else (b"", "") for at in row[5:]]


Written = tuple[list[Any], list[tuple[bytes, str]]]


def raw(entry: Entry) -> Written:
    """An entry as it is written."""
    parts = (entry.summary, entry.linked, entry.words)
    row = [entry.digest, entry.small, entry.outside, entry.findings, entry.state]
    return row, [(each, _sum(each) if each else "") for each in parts]


def write(path: str, head: bytes, told: Any, entries: Iterable[tuple[str, Written]]) -> None:
    """Replaces the file. Never fails: where it cannot be written, it stays as it is."""
    part = f"{path}.{os.getpid()}.part"
    try:
        _make_folder(os.path.dirname(path))
        with open(part, "wb") as out:
            out.write(head)
            at = len(head)
            index: dict[str, list[Any]] = {}
            for file, (row, parts) in entries:
                places: list[Any] = []
                for data, total in parts:
                    places.append([at, len(data), total] if data else None)
                    out.write(data)
                    at += len(data)
                index[file] = [*row, *places]
            last = json.dumps([told, index], separators=(",", ":")).encode()
            out.write(last)
            out.write(f"\n{at:019d} {_sum(last)}".encode())
        os.replace(part, path)
    except (OSError, ValueError):
        with suppress(OSError):
            os.unlink(part)


def _sum(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _make_folder(folder: str) -> None:
    """The folder, which git is told to ignore where it is new."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder)
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")
