"""The arrays of a batch file, read without running anything that is in it: `.npz` or `.safetensors`."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import format_bytes
from .safetensors import read_arrays

if TYPE_CHECKING:
    import numpy

MAX_BYTES = 4 * 1024**3
"""Of all arrays together, in memory. A batch is a few MiB; more than this is a bomb or another kind of file."""
_NEEDS = "pip install 'jax-contract-lint[data]'"


def read_batch(path: str | Path) -> dict[str, numpy.ndarray]:
    """Array name -> array, in the order of the file.

    Raises ContractLintError, with the path, for a file that is missing, damaged, too large, of another kind, or that
    holds Python objects (they would have to be unpickled, which runs code).
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(16)
            if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
                return _npz(path, file)
    except OSError as error:
        raise _error(path, f"cannot be read: {error.strerror or error}", "name a .npz or .safetensors file") from error
    if path.suffix == ".safetensors" or start[8:9] == b"{":
        return _safetensors(path)
    raise _error(path, "is neither a .npz nor a .safetensors file", "write it with numpy.savez(file, tokens=..., ...)")


def write_batch(path: Path, arrays: Mapping[str, numpy.ndarray]) -> None:
    """A .npz of the arrays of numbers among these."""
    plain = {name: array.view(array.dtype.str) for name, array in arrays.items() if not array.dtype.hasobject}
    _numpy(path).savez(path, **plain)


def _npz(path: Path, file: IO[bytes]) -> dict[str, numpy.ndarray]:
    numpy_format = _numpy(path).lib.format
    arrays: dict[str, numpy.ndarray] = {}
    total = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in arrays:
                    raise _error(path, f"holds two arrays named {name!r}")
                total += info.file_size
                if total > MAX_BYTES:
                    raise _error(path, f"unpacks to more than {format_bytes(MAX_BYTES)}", "give one batch a file")
                with archive.open(info) as member:
                    arrays[name] = _npy(path, name, member, info.file_size, numpy_format)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _error(path, f"is a damaged .npz file: {error}", "write it again") from error
    return arrays


def _npy(path: Path, name: str, member: IO[bytes], size: int, form: Any) -> numpy.ndarray:
    """One array. Its header is read first: what it promises must be there, before memory is asked for."""
    try:
        version = form.read_magic(member)
        reader = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        try:
            shape, fortran, dtype = reader(member)
        except ValueError as error:
            if "malformed node" in str(error):  # it goes on with the address of an object
                raise ValueError("its header holds more than plain values") from error
            raise
        if dtype.hasobject:
            raise _error(
                path, f"{name} holds Python objects, which are not read", "save arrays of numbers; objects run code"
            )
        if any(dim < 0 for dim in shape):
            raise ValueError(f"a size of {min(shape)}")
        wanted, there = prod(shape) * dtype.itemsize, size - member.tell()
        if wanted > there:
            raise _error(path, f"{name} promises {wanted:,} B and the file holds {there:,} B", "write it again")
        data = member.read(wanted)
        if len(data) != wanted:
            raise _error(path, f"{name} is cut: {len(data):,} of {wanted:,} B", "write it again")
        array = _numpy(path).frombuffer(data, dtype=dtype)
        return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    except (ValueError, TypeError, SyntaxError, OverflowError, TokenError) as error:
        raise _error(path, f"{name} is no array: {error}", "write it again") from error


def _safetensors(path: Path) -> dict[str, numpy.ndarray]:
    _numpy(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _error(path, f"is larger than {format_bytes(MAX_BYTES)}", "give one batch a file")
        return read_arrays(path, size)
    except OSError as error:
        raise _error(path, f"cannot be read: {error.strerror or error}", "name a .npz or .safetensors file") from error
    except ContractLintError as error:
        if error.location is not None:
            raise
        raise _error(path, f"is no readable .safetensors file: {error.message}", "write it again") from error


def _numpy(path: Path) -> Any:
    try:
        import numpy
    except ImportError as error:
        raise _error(path, "numpy is missing", _NEEDS) from error
    return numpy


def _error(path: Path, message: str, help: str | None = None) -> ContractLintError:
    return ContractLintError(message, Location(path.as_posix()), help)
