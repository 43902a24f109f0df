"""How chunks of zarr version 2 are coded, held to what TensorStore opens: Orbax reads through it, numcodecs knows more.

https://google.github.io/tensorstore/driver/zarr/index.html
"""

from __future__ import annotations

import base64
import binascii
import re
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
_NUMBER = re.compile(r"\s*[+-]?(?:NaN|Infinity|0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


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


def compressor_of(folder: Folder, path: str, value: Any) -> str | None:
    """The compressor's name, None for none. Raises ContractLintError for one that TensorStore does not open."""
    if value is None:
        return None
    name = value.get("id") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in LEVELS:
        known = ", ".join(sorted(LEVELS))
        wrong(folder, path, f"`compressor` is {quoted(value)}; Orbax reads {known}, and null")
    for key, setting in value.items():
        if key == "id" or (name == "blosc" and key == "cname" and setting in BLOSC):
            continue
        least, most = LEVELS[name].get(key, (1, 0))
        if not is_whole(setting) or not least <= setting <= most:
            wrong(folder, path, f"`compressor` is {quoted(value)}, and Orbax does not read that `{key}`")
    return name


def no_filters(folder: Folder, path: str, value: Any) -> None:
    """Raises ContractLintError for filters: TensorStore has none."""
    if value is not None and value != []:
        wrong(folder, path, f"`filters` is {quoted(value)}, and Orbax reads arrays without any")


def fill_of(folder: Folder, path: str, value: Any, dtype: str, item: int | None) -> None:
    """Raises ContractLintError for a fill value that is none of the dtype."""
    if value is not None and not _fills(value, dtype, item):
        wrong(folder, path, f"`fill_value` is {quoted(value)}, which is no {dtype}")


def _fills(value: Any, dtype: str, item: int | None) -> bool:
    if dtype == "bool":
        return isinstance(value, bool)
    if dtype.startswith("complex"):
        if isinstance(value, str):
            return _bytes(value) == item
        return isinstance(value, list) and len(value) == 2 and all(map(_real, value))
    if dtype.startswith(("int", "uint")):
        bits = max(8, int(dtype.lstrip("uint")))  # TensorStore holds smaller ones to a byte
        least, most = (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)
        return is_whole(value) and least <= value <= most
    return _real(value)


def is_whole(value: Any) -> bool:
    """Whether TensorStore takes a number for a whole one: 3.0 is."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _real(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bytes(text: str) -> int | None:
    try:
        return len(base64.b64decode(text, validate=True))
    except binascii.Error:
        return None
