"""The elements of saved arrays in blocks of bounded size, in the order of C: the one place that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .facts import Checkpoint, Item, Leaf
from .folder import Folder

if TYPE_CHECKING:
    import numpy

BLOCK = 1 << 19
"""Elements of one block: 4 MiB as float64."""
_RAW = 1 << 22
"""Bytes of one block that is not decoded."""
_CACHE = 64 * 1024**2
"""Bytes of decoded chunks that are kept: a block may be a part of many."""
_NEEDS = "pip install 'jax-contract-lint[data]'"
Block = tuple[slice, ...]


def blocks(shape: tuple[int, ...]) -> Iterator[Block]:
    """An array cut in blocks that follow each other in the order of C."""
    if prod(shape) <= BLOCK:
        yield tuple(slice(0, size) for size in shape)
        return
    row = prod(shape[1:])
    if row <= BLOCK:
        step = BLOCK // row
        for start in range(0, shape[0], step):
            yield (slice(start, min(start + step, shape[0])), *(slice(0, size) for size in shape[1:]))
        return
    for index in range(shape[0]):
        for inner in blocks(shape[1:]):
            yield (slice(index, index + 1), *inner)


class Values:
    """The arrays of one item of a checkpoint that was read. Raises ContractLintError where a package is missing."""

    def __init__(self, checkpoint: Checkpoint, item: Item) -> None:
        self._item = item
        self._folder = Folder(checkpoint.folder, checkpoint.folder.as_posix())
        self._context: Any = None

    def of(self, leaf: Leaf) -> Iterator[numpy.ndarray]:
        """The blocks of one array, as float64 or as the integers they are. Raises ContractLintError for damage."""
        assert leaf.shape is not None
        try:
            if leaf.extent is not None:
                yield from self._raw(leaf)
            else:
                yield from self._chunked(leaf)
        except ImportError as error:
            raise self._missing(error) from error

    def raw(self, leaf: Leaf) -> Iterator[bytes]:
        """The bytes of one array in blocks, in the order of C, little-endian, as they are. Raises ContractLintError."""
        assert leaf.shape is not None
        extent = leaf.extent
        if extent is None:
            try:
                for array in self._stored(leaf):
                    yield (array.byteswap() if array.dtype.byteorder == ">" else array).tobytes()
            except ImportError as error:
                raise self._missing(error) from error
            return
        for start in range(0, extent.length, _RAW):
            size = min(_RAW, extent.length - start)
            data = self._folder.read_range(extent.file, extent.offset + start, size)
            if len(data) != size:
                raise self._folder.refused(extent.file, f"ends within {leaf.path}", "see: checkpoint check")
            yield data

    def _missing(self, error: ImportError) -> ContractLintError:
        return ContractLintError(f"the package {error.name} is missing", Location(self._folder.shown), _NEEDS)

    def _raw(self, leaf: Leaf) -> Iterator[numpy.ndarray]:
        import numpy

        assert leaf.extent is not None and leaf.shape is not None
        dtype = _dtype(leaf.dtype or "")
        offset = leaf.extent.offset
        for block in blocks(leaf.shape):
            count = prod(part.stop - part.start for part in block)
            data = self._folder.read_range(leaf.extent.file, offset, count * dtype.itemsize)
            if len(data) != count * dtype.itemsize:
                raise self._folder.refused(leaf.extent.file, f"ends within {leaf.path}", "see: checkpoint check")
            offset += len(data)
            yield _wide(numpy.frombuffer(data, dtype))

    def _chunked(self, leaf: Leaf) -> Iterator[numpy.ndarray]:
        yield from map(_wide, self._stored(leaf))

    def _stored(self, leaf: Leaf) -> Iterator[numpy.ndarray]:
        """The blocks of an array in chunks, in the dtype that it is stored in."""
        import tensorstore

        assert leaf.shape is not None
        if self._context is None:
            self._context = tensorstore.Context({"cache_pool": {"total_bytes_limit": _CACHE}})
        base = f"{(self._folder.path / self._item.name).resolve()}/"
        files = {"driver": "file", "path": base}
        below = f"{leaf.name}/" if leaf.name else ""
        if self._item.layout == "ocdbt":
            store = {"driver": "ocdbt", "base": files, "path": below}
        else:
            store = files | {"path": f"{base}{below}"}
        driver = "zarr3" if leaf.version == 3 else "zarr"
        try:
            array = tensorstore.open({"driver": driver, "kvstore": store}, read=True, context=self._context).result()
            for block in blocks(leaf.shape):
                yield array[block].read().result().reshape(-1)
        except (ValueError, OSError, KeyError, RuntimeError, NotImplementedError) as error:
            said = f"{leaf.path} cannot be read: its bytes are damaged"
            raise self._folder.refused(self._item.name, said, "see: checkpoint check") from error


def _dtype(name: str) -> numpy.dtype:
    import numpy

    try:
        return numpy.dtype(name)
    except TypeError:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))


def _wide(array: numpy.ndarray) -> numpy.ndarray:
    """Floats as float64, and what holds integers as it is."""
    if array.dtype.kind in "biu":
        return array
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")
