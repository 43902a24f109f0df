"""The arrays of a .safetensors file. What numpy has no dtype for is widened to float32, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...contracts.errors import ContractLintError
from ..checkpoint.folder import Folder
from ..checkpoint.safetensors import read_safetensors

if TYPE_CHECKING:
    import numpy

_NOT_READ = ("float4_", "float6_", "float8_")
STORED = "stored"
"""Metadata of a dtype: what the file calls it, where that is not what the array has."""


def read_arrays(path: Path, size: int) -> dict[str, numpy.ndarray]:
    """Array name -> array. Raises ContractLintError, without a place, for a file that is damaged, has two arrays of
    one name, or holds a dtype that is not read."""
    real = path.resolve()
    folder = Folder(real.parent, real.parent.as_posix())
    try:
        item = read_safetensors(folder, [real.name], {real.name: size})
    except ContractLintError as error:
        where = error.location
        place = f" (line {where.line}, column {where.column} of its header)" if where and where.line else ""
        raise ContractLintError(f"{error.message}{place}") from error
    if item.holes:
        hole = item.holes[0]
        raise ContractLintError(f"{hole.leaf}: {hole.what}")
    leaves = sorted(item.leaves.values(), key=lambda leaf: leaf.extent.offset if leaf.extent else 0)
    arrays = {}
    for leaf in leaves:
        assert leaf.extent is not None and leaf.dtype is not None and leaf.shape is not None
        data = folder.read_range(real.name, leaf.extent.offset, leaf.extent.length)
        arrays[leaf.name] = _array(data, leaf.name, leaf.dtype).reshape(leaf.shape)
    return arrays


def dtype_name(array: numpy.ndarray) -> str:
    """What its file calls the dtype of an array."""
    return (array.dtype.metadata or {}).get(STORED, array.dtype.name)


def _array(data: bytes, name: str, dtype: str) -> numpy.ndarray:
    import numpy

    if dtype == "bfloat16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view(_widened(dtype))
    if dtype == "float8_e5m2":
        return (numpy.frombuffer(data, "u1").astype("<u2") << 8).view("<f2").astype(_widened(dtype))
    if dtype == "float8_e4m3fn":
        return _e4m3(numpy.frombuffer(data, "u1")).astype(_widened(dtype))
    if dtype.startswith(_NOT_READ):
        raise ContractLintError(f"{name} is {dtype}, which is not read: write it as float32")
    return numpy.frombuffer(data, numpy.dtype(dtype).newbyteorder("<"))


def _e4m3(bits: numpy.ndarray) -> numpy.ndarray:
    """Four bits of exponent (bias 7), three of mantissa; no infinity, and one NaN of each sign."""
    import numpy

    exponent, mantissa = (bits >> 3 & 15).astype(int), (bits & 7).astype(float)
    value = numpy.where(exponent == 0, numpy.ldexp(mantissa, -9), numpy.ldexp(8 + mantissa, exponent - 10))
    value = numpy.where(bits & 127 == 127, numpy.nan, value)
    return numpy.where(bits & 128, -value, value)


def _widened(dtype: str) -> Any:
    import numpy

    return numpy.dtype("<f4", metadata={STORED: dtype})
