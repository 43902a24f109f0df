"""What `.zarray` says of an array of zarr version 2, held to what TensorStore opens: Orbax reads through it, numcodecs
knows more.

https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html, https://google.github.io/tensorstore/driver/zarr/index.html
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, NoReturn

from .coding import BLOSC, LEVELS, chunks_of, fill_of, is_whole
from .described import Coding, Described
from .folder import Folder
from .metadata import quoted, wrong

REQUIRED = ("shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters")
"""Keys that an array has by the specification, beside `zarr_format`."""
_V2 = re.compile(r"[<>](?P<kind>b(?=1$)|[iu](?=[1248]$)|f(?=[248]$)|c(?=(?:8|16)$))(?P<size>\d+)|\|(?P<letter>[biu])1")
_V2_NAME = re.compile(r"bfloat16|int[24]|float[468]_[a-z0-9]+")
"""What TensorStore opens beside numpy's names."""
_LETTERS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_NUMBER = re.compile(r"\s*[+-]?(?:NaN|Infinity|0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


def described(folder: Folder, path: str, data: dict[str, Any], shape: tuple[int, ...]) -> Described:
    """All but the shape. Raises ContractLintError for what TensorStore does not open."""
    dtype, item = _dtype(folder, path, data["dtype"])
    chunks = chunks_of(folder, path, "chunks", data["chunks"], shape)
    compressor = compressor_of(folder, path, data["compressor"])
    no_filters(folder, path, data["filters"])
    _fill(folder, path, data["fill_value"], dtype, item)
    if data["order"] not in ("C", "F"):
        wrong(folder, path, f"`order` is {quoted(data['order'])}, not C or F")
    unusual = ""
    if str(data["dtype"]).startswith(">") and item != 1:
        unusual = f"`dtype` {data['dtype']}"
    elif data["order"] == "F" and sum(size > 1 for size in chunks) > 1:
        unusual = "`order` F"
    coding = Coding(raw=compressor is None, compressor=compressor, unusual=unusual)
    separator = data.get("dimension_separator", ".")
    return Described(dtype, item, chunks, separator, (), coding, dense=data["fill_value"] is None)


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


def _fill(folder: Folder, path: str, value: Any, dtype: str, item: int | None) -> None:
    if value is None or (dtype.startswith("complex") and isinstance(value, str) and _bytes(value) == item):
        return
    whole = dtype.startswith(("int", "uint"))
    bits = max(8, int(dtype.lstrip("uint"))) if whole else 0  # TensorStore holds smaller ones to a byte
    fill_of(folder, path, value, dtype, bits, _real)


def _real(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _bytes(text: str) -> int | None:
    try:
        return len(base64.b64decode(text, validate=True))
    except binascii.Error:
        return None


def _dtype(folder: Folder, path: str, value: Any) -> tuple[str, int | None]:
    if isinstance(value, str):
        if value.lstrip("|<>=").startswith("O"):
            _objects(folder, path)
        match = _V2.fullmatch(value)
        if match is not None:
            letter, item = match["kind"] or match["letter"], int(match["size"] or 1)
            return "bool" if letter == "b" else f"{_LETTERS[letter]}{8 * item}", item
        if _V2_NAME.fullmatch(value):
            return value, 2 if value == "bfloat16" else 1 if value.startswith("float8_") else None
    wrong(folder, path, f"`dtype` is {quoted(value)}, not a dtype of numbers that Orbax reads")


def _objects(folder: Folder, path: str) -> NoReturn:
    """Raises the error on an array of Python objects."""
    raise folder.refused(path, "is an array of Python objects, which are not read", "save numbers; objects run code")
