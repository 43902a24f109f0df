"""What `zarr.json` says of an array of zarr version 3, held to what TensorStore opens.

https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from .codecs import coding_of
from .coding import chunks_of, fill_of
from .described import Described
from .folder import Folder
from .metadata import quoted, wrong

_BITS = {
    **{"bool": 8, "float4_e2m1fn": 4, "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64},
    **{name: bits for bits in (8, 16, 32, 64) for name in (f"int{bits}", f"uint{bits}")},
    **{"int2": 2, "int4": 4, "complex64": 64, "complex128": 128},
    **{f"float8_{kind}": 8 for kind in ("e3m4", "e4m3fn", "e4m3fnuz", "e4m3b11fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
}
"""The dtypes of numbers that TensorStore's driver has, each with the bits of an element."""
REQUIRED = ("node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
"""Keys that an array has by the specification, beside `zarr_format`."""
_KNOWN = (*REQUIRED, "zarr_format", "attributes", "dimension_names", "storage_transformers")
_WORDS = ("NaN", "Infinity", "-Infinity")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_MOST = 1 << 62
"""Elements along one dimension."""


def described(folder: Folder, path: str, data: dict[str, Any], shape: tuple[int, ...]) -> Described:
    """All but the shape. Raises ContractLintError for what TensorStore does not open."""
    if data["node_type"] != "array":
        wrong(folder, path, f"`node_type` is {quoted(data['node_type'])}, not array")
    if any(size > _MOST for size in shape):
        wrong(folder, path, f"`shape` is {quoted(list(shape))}: no array is that large")
    dtype = data["data_type"]
    bits = _BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        wrong(folder, path, f"`data_type` is {quoted(dtype)}, not a dtype of numbers that Orbax reads")
    part = bits // 2 if dtype.startswith("complex") else bits
    fill_of(folder, path, data["fill_value"], dtype, bits, lambda value: _real(value, part))
    grid = _part(folder, path, data, "chunk_grid", {"regular": ("chunk_shape",)})
    chunks = chunks_of(folder, path, "chunk_shape", grid.get("chunk_shape"), shape)
    width = max(1, bits // 8)
    if prod(chunks) * width >= 1 << 63:
        wrong(folder, path, f"chunks of {list(chunks)} are larger than any that can be read")
    keys = _part(folder, path, data, "chunk_key_encoding", {"default": ("separator",), "v2": ("separator",)})
    plain = data["chunk_key_encoding"]["name"] == "v2"
    _rest(folder, path, data, len(shape))
    coding = coding_of(folder, path, data["codecs"], chunks, width)
    separator = keys.get("separator", "." if plain else "/")
    return Described(dtype, width if bits >= 8 else None, chunks, separator, () if plain else ("c",), coding)


def _part(
    folder: Folder, path: str, data: dict[str, Any], key: str, names: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The configuration of an extension point, of which TensorStore has those of these names and settings."""
    part = data[key]
    name = part.get("name") if isinstance(part, dict) else None
    if not isinstance(name, str) or name not in names:
        wrong(folder, path, f"`{key}` is {quoted(part)}, not {' or '.join(names)}")
    configuration = part.get("configuration", {})
    if not isinstance(configuration, dict):
        wrong(folder, path, f"`{key}` has no configuration")
    more = [*(part.keys() - {"name", "configuration"}), *(configuration.keys() - {*names[name]})]
    if more:
        wrong(folder, path, f"`{key}` is {quoted(part)}, and Orbax does not read that `{min(more)}`")
    return configuration


def _rest(folder: Folder, path: str, data: dict[str, Any], rank: int) -> None:
    """What need not be there, and what nobody knows: it must say that it may be passed over."""
    if not isinstance(data.get("attributes", {}), dict):
        wrong(folder, path, f"`attributes` is {quoted(data['attributes'])}, not an object")
    names = data.get("dimension_names", [None] * rank)
    if not isinstance(names, list) or len(names) != rank or not all(isinstance(each, str | None) for each in names):
        wrong(folder, path, f"`dimension_names` is {quoted(names)}, not a name or null for each of {rank} dimensions")
    if data.get("storage_transformers", []) != []:
        wrong(folder, path, f"`storage_transformers` is {quoted(data['storage_transformers'])}, and Orbax reads none")
    for key, value in data.items():
        passed = isinstance(value, dict) and value.get("must_understand") is False
        if key not in _KNOWN and not passed:
            said = f"has `{key}`, which Orbax does not know and which does not say `must_understand: false`"
            wrong(folder, path, said)


def _real(value: Any, bits: int) -> bool:
    """A number, a word, or the bits of one as text."""
    if isinstance(value, str):
        digits = max(2, bits // 4)
        return value in _WORDS or (_HEX.fullmatch(value) is not None and len(value) <= 2 + digits)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
