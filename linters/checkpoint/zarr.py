"""Zarr metadata (versions 2 and 3): the global shape and dtype of an array, and the grid of chunks it is cut in.

https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html and .../v3/core/index.html
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

from .coding import compressor_of, extents, fill_of, no_filters
from .folder import Folder
from .metadata import parse, quoted, wrong
from .stored import Extent
from .zarr3 import described

NAMES = {2: ".zarray", 3: "zarr.json"}
_REQUIRED = {
    2: ("shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters"),
    3: ("node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"),
}
"""Keys that an array has by the specification, beside `zarr_format`."""
_V2 = re.compile(r"[<>](?P<kind>b(?=1$)|[iu](?=[1248]$)|f(?=[248]$)|c(?=(?:8|16)$))(?P<size>\d+)|\|(?P<letter>[biu])1")
_V2_NAME = re.compile(r"bfloat16|int[24]|float[468]_[a-z0-9]+")
"""What TensorStore opens beside numpy's names."""
_LETTERS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_NOTHING = (1 << 64) - 1
"""What an index says of a part that is not stored."""
_MOST_PARTS = 1 << 16
_INDEX = re.compile(r"0|[1-9]\d{0,18}")


@dataclass(frozen=True, slots=True)
class ZarrArray:
    """One array. `raw_bytes` is what each chunk takes on disk, None where it is compressed."""

    shape: tuple[int, ...]
    dtype: str
    chunks: tuple[int, ...]
    separator: str
    prefix: tuple[str, ...]
    """What the keys of chunks begin with."""
    raw_bytes: int | None
    compressor: str | None = None
    dense: bool = False
    """Whether chunks that hold only the fill value are stored too: there is none to compare with."""
    decoded_bytes: int | None = None
    """What each chunk takes once it is decompressed; None where the metadata does not tell."""
    inner: int = 0
    """Parts in each chunk, where an index at its end says where they lie; 0 where there is none."""
    unusual: str = ""
    """An order of bytes or elements that readers know and Orbax never writes."""

    @property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True))

    def key(self, index: tuple[int, ...]) -> str:
        """What the chunk at a place of the grid is called."""
        return self.separator.join((*self.prefix, *map(str, index))) or "0"

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
        parts = key.split(self.separator)
        if self.prefix:
            if parts[0] != self.prefix[0]:
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
    absent = [key for key in _REQUIRED[version] if key not in data]
    if absent:
        wrong(folder, path, f"has no `{absent[0]}`, without which no reader opens it")
    shape = extents(folder, path, "shape", data.get("shape"))
    if version == 2:
        dtype, item = _v2_dtype(folder, path, data.get("dtype"))
        chunks = extents(folder, path, "chunks", data.get("chunks"))
        separator = data.get("dimension_separator", ".")
        compressor = compressor_of(folder, path, data["compressor"])
        no_filters(folder, path, data["filters"])
        fill_of(folder, path, data["fill_value"], dtype, item)
        if data["order"] not in ("C", "F"):
            wrong(folder, path, f"`order` is {quoted(data['order'])}, not C or F")
        raw, known = compressor is None, True
        inner, dense = 0, data.get("fill_value") is None
        unusual = ""
        if str(data["dtype"]).startswith(">") and item != 1:
            unusual = f"`dtype` {data['dtype']}"
        elif data["order"] == "F" and sum(size > 1 for size in chunks) > 1:
            unusual = "`order` F"
        prefix: tuple[str, ...] = ()
    else:
        told = described(folder, path, data, shape)
        dtype, item, chunks, separator, prefix = told.dtype, told.item, told.chunks, told.separator, told.prefix
        compressor, raw, known = told.coding.compressor, told.coding.raw, told.coding.compressor is not None
        inner, dense, unusual = told.coding.inner, False, told.coding.unusual
    if len(chunks) != len(shape) or 0 in chunks:
        wrong(folder, path, f"chunks of {list(chunks)} cannot cut an array of {list(shape)}")
    if separator not in (".", "/"):
        wrong(folder, path, f"the separator of chunks is {quoted(separator)}, not `.` or `/`")
    raw_bytes = prod(chunks) * item if raw and item is not None else None
    decoded = prod(chunks) * item if known and item is not None else None
    return ZarrArray(shape, dtype, chunks, separator, prefix, raw_bytes, compressor, dense, decoded, inner, unusual)


def index_cut(extent: Extent, parts: int, folder: Folder) -> str | None:
    """Why the parts of a chunk are not all there, from the index at its end: an offset and a size for each, and a sum.

    https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/v1.0.html
    """
    length = 16 * parts + 4
    data = extent.length - length
    if data < 0:
        return f"{extent.length:,} B are stored, its index alone has {length:,}"
    if parts > _MOST_PARTS:
        return None
    index = extent.read(folder, data)
    for place in range(0, 16 * parts, 16):
        offset, size = (int.from_bytes(index[at : at + 8], "little") for at in (place, place + 8))
        if offset + size > data and (offset, size) != (_NOTHING, _NOTHING):
            return "its index, the last of its bytes, places parts behind its end"
    return None


def _v2_dtype(folder: Folder, path: str, value: Any) -> tuple[str, int | None]:
    if isinstance(value, str):
        if value.lstrip("|<>=").startswith("O"):
            objects(folder, path)
        match = _V2.fullmatch(value)
        if match is not None:
            letter, item = match["kind"] or match["letter"], int(match["size"] or 1)
            return "bool" if letter == "b" else f"{_LETTERS[letter]}{8 * item}", item
        if _V2_NAME.fullmatch(value):
            return value, 2 if value == "bfloat16" else 1 if value.startswith("float8_") else None
    wrong(folder, path, f"`dtype` is {quoted(value)}, not a dtype of numbers that Orbax reads")


def objects(folder: Folder, path: str) -> NoReturn:
    """Raises the error on an array of Python objects."""
    raise folder.refused(path, "is an array of Python objects, which are not read", "save numbers; objects run code")
