"""Zarr metadata (versions 2 and 3): the global shape and dtype of an array, and the grid of chunks it is cut in.

https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html and .../v3/core/index.html
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from . import zarr2, zarr3
from .coding import extents
from .described import Coding, Described
from .folder import Folder
from .metadata import parse, quoted, wrong
from .stored import Extent

NAMES = {2: ".zarray", 3: "zarr.json"}
_READERS = {2: (zarr2.described, zarr2.REQUIRED), 3: (zarr3.described, zarr3.REQUIRED)}
_NOTHING = (1 << 64) - 1
"""What an index says of a part that is not stored."""
_MOST_PARTS = 1 << 16
_INDEX = re.compile(r"0|[1-9]\d{0,18}")


@dataclass(frozen=True, slots=True)
class ZarrArray:
    """One array by its shape and what is said of it."""

    shape: tuple[int, ...]
    told: Described

    @property
    def dtype(self) -> str:
        return self.told.dtype

    @property
    def coding(self) -> Coding:
        return self.told.coding

    @property
    def chunk_bytes(self) -> int | None:
        """What each chunk takes before it is compressed; None where the metadata does not tell."""
        return prod(self.told.chunks) * self.told.item if self.told.item is not None else None

    @property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.shape, self.told.chunks, strict=True))

    def key(self, index: tuple[int, ...]) -> str:
        """What the chunk at a place of the grid is called."""
        return self.told.separator.join((*self.told.prefix, *map(str, index))) or "0"

    def absent(self, stored: Collection[str]) -> tuple[int, str | None]:
        """How many chunks of the grid are not among the stored ones, and the first of them."""
        there = {key for key in stored if self._in_grid(key)}
        missing = prod(self.grid) - len(there)
        if missing <= 0:
            return 0, None
        # Among one place more than there are chunks, one is empty: a grid may be larger than what can be counted.
        return missing, next(key for key in map(self.key, map(self._place, range(len(there) + 1))) if key not in there)

    def outside(self, stored: Collection[str]) -> list[str]:
        """Stored chunks that lie at no place of the grid."""
        return sorted(key for key in stored if not self._in_grid(key))

    def _place(self, number: int) -> tuple[int, ...]:
        """The place of the grid with this number, the last dimension first."""
        place: list[int] = []
        for size in reversed(self.grid):
            number, index = divmod(number, size)
            place.append(index)
        return tuple(reversed(place))

    def _in_grid(self, key: str) -> bool:
        parts = key.split(self.told.separator)
        if self.told.prefix:
            if parts[0] != self.told.prefix[0]:
                return False
            parts = parts[1:]
        elif not self.shape:
            return key == "0"
        if len(parts) != len(self.grid) or not all(map(_INDEX.fullmatch, parts)):
            return False
        return all(int(part) < size for part, size in zip(parts, self.grid, strict=True))


def read_zarr(folder: Folder, path: str, text: bytes, version: int) -> ZarrArray:
    """The array that `.zarray` or `zarr.json` describes. Raises ContractLintError where it is damaged or of objects."""
    data = parse(folder, path, text)
    if isinstance(data.get("zarr_format"), bool) or data.get("zarr_format") != version:
        wrong(folder, path, f"`zarr_format` is {quoted(data.get('zarr_format'))}, not {version}")
    described, required = _READERS[version]
    absent = [key for key in required if key not in data]
    if absent:
        wrong(folder, path, f"has no `{absent[0]}`, without which no reader opens it")
    shape = extents(folder, path, "shape", data["shape"])
    told = described(folder, path, data, shape)
    if told.separator not in (".", "/"):
        wrong(folder, path, f"the separator of chunks is {quoted(told.separator)}, not `.` or `/`")
    return ZarrArray(shape, told)


def index_cut(extent: Extent, coding: Coding, folder: Folder) -> str | None:
    """Why the parts of a chunk are not all there, from the index at its end: an offset and a size for each, and a sum.

    https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/v1.0.html
    """
    length = 16 * coding.inner + (4 if coding.summed else 0)
    data = extent.length - length
    if data < 0:
        return f"{extent.length:,} B are stored, its index alone has {length:,}"
    if coding.inner > _MOST_PARTS:
        return None
    index = extent.read(folder, data)
    for place in range(0, 16 * coding.inner, 16):
        offset, size = (int.from_bytes(index[at : at + 8], "little") for at in (place, place + 8))
        if (offset, size) == (_NOTHING, _NOTHING):
            continue
        if offset + size > data:
            return "its index, the last of its bytes, places parts behind its end"
        if coding.part not in (None, size):
            return f"a part of it has {size:,} B, {coding.part:,} are needed: they are coded otherwise than is said"
    return None
