"""What metadata of both versions of zarr has: extents, chunks, fill values, compressors and their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .folder import Folder
from .metadata import quoted, sizes, wrong

LEVELS = {
    "zstd": {"level": (-131_072, 22)},
    "zlib": {"level": (0, 9)},
    "gzip": {"level": (0, 9)},
    "bz2": {"level": (1, 9)},
    "blosc": {"clevel": (0, 9), "shuffle": (-1, 2), "blocksize": (0, 1 << 63)},
}
"""Compressor -> its settings that are whole numbers, each with the least and the most."""
BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
"""Its compressors, the setting `cname`."""
_MOST_DIMENSIONS = 32


def extents(folder: Folder, path: str, name: str, value: Any) -> tuple[int, ...]:
    """A list of sizes, of which TensorStore takes 32."""
    if isinstance(value, list):
        value = [int(size) if isinstance(size, float) and size.is_integer() else size for size in value]
        if len(value) > _MOST_DIMENSIONS:
            wrong(
                folder,
                path,
                f"`{name}` has {len(value):,} dimensions, more than the {_MOST_DIMENSIONS} that Orbax reads",
            )
    return sizes(folder, path, name, value)


def chunks_of(folder: Folder, path: str, name: str, value: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents of a chunk. Raises ContractLintError for those that cut no array of this shape."""
    chunks = extents(folder, path, name, value)
    if len(chunks) != len(shape) or 0 in chunks:
        wrong(folder, path, f"chunks of {list(chunks)} cannot cut an array of {list(shape)}")
    return chunks


def fill_of(folder: Folder, path: str, value: Any, dtype: str, bits: int, real: Callable[[Any], bool]) -> None:
    """Raises ContractLintError for a fill value that is none of the dtype. `real`: whether a value is a number, by
    itself or as a part of a complex one; `bits` are those of an integer."""
    if dtype == "bool":
        fits = isinstance(value, bool)
    elif dtype.startswith("complex"):
        fits = isinstance(value, list) and len(value) == 2 and all(map(real, value))
    elif dtype.startswith(("int", "uint")):
        least, most = (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)
        fits = is_whole(value) and least <= value <= most
    else:
        fits = real(value)
    if not fits:
        wrong(folder, path, f"`fill_value` is {quoted(value)}, which is no {dtype}")


def is_whole(value: Any) -> bool:
    """Whether TensorStore takes a number for a whole one: 3.0 is."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
