"""A folder that is read without leaving it: no link is followed, nothing but files and folders is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import format_bytes
from .hollow import hollow, suspect

MAX_DEPTH = 32
MAX_FILES = 2_000_000
MAX_METADATA = 64 * 1024**2
"""Bytes of one file of metadata. 10,000 leaves take about 5 MiB."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A folder by its path. `shown` is what messages call it."""

    def __init__(self, path: Path, shown: str) -> None:
        self.path = path
        self._at = str(path)
        self.shown = shown

    def below(self, name: str) -> Folder:
        """A folder in it. Raises ContractLintError where it is a link."""
        inner = self.path / name
        if inner.is_symlink():
            raise self.refused(name, "is a symbolic link", "links are not followed: name what it points to")
        return Folder(inner, f"{self.shown}/{name}")

    def listed(self) -> list[tuple[str, bool]]:
        """Names in it, in order, and whether each is a folder. Links and other things are none, and not looked at."""
        return [(name, folder) for name, folder, _ in self._listed("", lenient=True)]

    def files(self) -> dict[str, int]:
        """Every file below it: path -> bytes.

        Raises ContractLintError for links, pipes, what cannot be read, and files that are holes with a name.
        """
        found: dict[str, int] = {}
        for path, size in self._walk("", 0):
            if len(found) >= MAX_FILES:
                raise self.refused("", f"holds more than {MAX_FILES:,} files", "name one step")
            found[path] = size
        return found

    def size(self, path: str) -> int:
        """Bytes of one file. Raises ContractLintError as `files`."""
        info = self._info(path)
        self._stored(path, info)
        return info.st_size

    def read(self, path: str, most: int = MAX_METADATA) -> bytes:
        """All of one file. Raises ContractLintError where it is larger than `most` or cannot be read."""
        size = self._info(path).st_size
        if size > most:
            raise self.refused(path, f"has {format_bytes(size)}: metadata has at most {format_bytes(most)}")
        return self.read_range(path, 0, size)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Bytes of one file; fewer where it ends before."""
        try:
            descriptor = os.open(f"{self._at}/{path}", _FLAGS)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise self.refused(path, "is no file")
                return os.pread(descriptor, length, offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self.refused(path, f"cannot be read: {error.strerror or error}") from error

    def refused(self, path: str, message: str, help: str | None = None) -> ContractLintError:
        """The error that names a place in the folder."""
        return ContractLintError(message, Location(f"{self.shown}/{path}" if path else self.shown), help)

    def _stored(self, path: str, info: os.stat_result) -> None:
        """Raises ContractLintError for a file of which next to nothing is stored."""
        if not suspect(info):
            return
        try:
            descriptor = os.open(f"{self._at}/{path}", _FLAGS)
        except OSError as error:
            raise self.refused(path, f"cannot be read: {error.strerror or error}") from error
        try:
            stored = hollow(descriptor, info.st_size)
        finally:
            os.close(descriptor)
        if stored is not None:
            said = f"is a hole: it has {format_bytes(info.st_size)}, stored are {format_bytes(stored)}"
            raise self.refused(path, said, "copy it again; if it does hold zeros, cp --sparse=never stores them")

    def _info(self, path: str) -> os.stat_result:
        try:
            return os.stat(self.path / path, follow_symlinks=False)
        except OSError as error:
            raise self.refused(path, f"cannot be read: {error.strerror or error}") from error

    def _walk(self, above: str, depth: int) -> Iterator[tuple[str, int]]:
        if depth > MAX_DEPTH:
            raise self.refused(above, f"lies deeper than {MAX_DEPTH} folders")
        for name, folder, size in self._listed(above):
            path = f"{above}/{name}" if above else name
            if folder:
                yield from self._walk(path, depth + 1)
            else:
                yield path, size

    def _listed(self, below: str, lenient: bool = False) -> list[tuple[str, bool, int]]:
        found: list[tuple[str, bool, int]] = []
        try:
            with os.scandir(f"{self._at}/{below}") as entries:
                for entry in entries:
                    info = entry.stat(follow_symlinks=False)
                    path = f"{below}/{entry.name}" if below else entry.name
                    regular = stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)
                    if not entry.name.isprintable():
                        raise self.refused(below, f"holds a name that cannot be shown: {entry.name!r}", "rename it")
                    if stat.S_ISLNK(info.st_mode) and not lenient:
                        raise self.refused(
                            path, "is a symbolic link", "put the file itself there: links are not followed"
                        )
                    if not regular and not lenient:
                        raise self.refused(path, "is neither a file nor a folder", "take it out")
                    if stat.S_ISREG(info.st_mode) and not lenient:
                        self._stored(path, info)
                    found.append((entry.name, stat.S_ISDIR(info.st_mode), info.st_size))
        except OSError as error:
            raise self.refused(below, f"cannot be read: {error.strerror or error}") from error
        return sorted(found)
