"""Where the bytes under each key of a store lie: the view that plain files and OCDBT databases share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .folder import Folder


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of one file, or bytes that the index itself holds."""

    file: str
    offset: int
    length: int
    inline: bytes | None = None

    def missing(self, files: Mapping[str, int]) -> str | None:
        """Why the bytes are not all there; None where they are."""
        if self.inline is not None:
            return None
        size = files.get(self.file)
        if size is None:
            return f"{self.file} is not there"
        if self.offset + self.length > size:
            return f"{self.file} has {size:,} of at least {self.offset + self.length:,} B"
        return None

    def part(self, folder: Folder, start: int, length: int) -> bytes:
        """So many bytes from `start` on; fewer where they end before."""
        length = max(0, min(length, self.length - start))
        if self.inline is not None:
            return self.inline[start : start + length]
        return folder.read_range(self.file, self.offset + start, length)

    def read(self, folder: Folder, start: int = 0) -> bytes:
        """The bytes from `start` on; there must be few."""
        if self.inline is not None:
            return self.inline[start:]
        return folder.read_range(self.file, self.offset + start, self.length - start)


def plain(files: Mapping[str, int], below: str) -> dict[str, Extent]:
    """Files below a folder as a store: key -> the whole file."""
    start = f"{below}/" if below else ""
    return {path[len(start) :]: Extent(path, 0, size) for path, size in files.items() if path.startswith(start)}
