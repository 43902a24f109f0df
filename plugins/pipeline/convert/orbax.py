"""A tree of arrays as Orbax restores it: one folder in zarr's layout (version 2, uncompressed), written as bytes come.

https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....linters.checkpoint.facts import Leaf
from ....linters.checkpoint.safetensors import WORDS

CHUNK = 64 * 1024**2
"""Bytes of one chunk at most, where a row is not larger."""
_HANDLER = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler"
_NAMED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Dtypes that zarr calls by their name, as TensorStore writes them."""
_KINDS = {"bool": "b", "int": "i", "uint": "u", "float": "f", "complex": "c"}


def write_orbax(folder: Path, leaves: Mapping[str, Leaf], read: Callable[[str], Iterable[bytes]], shown: str) -> None:
    """Write the arrays by their new paths into a new folder; `read` gives the bytes of one. Raises ContractLintError
    for a dtype that zarr has no word for, and for two arrays of one name in its store."""
    stores: dict[str, str] = {}
    for path in leaves:
        store = path.replace("/", ".")
        if store in stores:
            said = f"{stores[store]} and {path} would both be stored as {store}"
            raise ContractLintError(said, Location(shown), "give them names that differ in more than dots")
        stores[store] = path
    folder.mkdir()
    start = time.time_ns()
    tree: dict[str, object] = {}
    for store, path in stores.items():
        leaf = leaves[path]
        _array(folder / store, leaf, read(path), f"{shown}: {path}")
        keys = path.split("/")
        tree[str(tuple(keys))] = {
            "key_metadata": [{"key": key, "key_type": 2} for key in keys],
            "value_metadata": {
                "value_type": "np.ndarray",
                "skip_deserialize": False,
                "write_shape": list(leaf.shape or ()),
            },
        }
    metadata = {"tree_metadata": tree, "use_ocdbt": False, "use_zarr3": False, "custom_metadata": None}
    metadata["store_array_data_equal_to_fill_value"] = True
    (folder / "_METADATA").write_text(json.dumps(metadata))
    about = {"item_handlers": _HANDLER, "metrics": {}, "performance_metrics": {}, "custom_metadata": {}}
    about |= {"init_timestamp_nsecs": start, "commit_timestamp_nsecs": time.time_ns()}
    (folder / "_CHECKPOINT_METADATA").write_text(json.dumps(about))
    (folder / "commit_success.txt").write_text("Checkpoint commit was successful")


def _array(folder: Path, leaf: Leaf, blocks: Iterable[bytes], what: str) -> None:
    shape = leaf.shape or ()
    word, bits = _word(leaf.dtype or "", what)
    row = prod(shape[1:]) * bits // 8
    rows = max(1, min(shape[0], CHUNK // max(row, 1))) if shape else 1
    chunks = [rows, *(max(1, size) for size in shape[1:])] if shape else []
    about = {"zarr_format": 2, "shape": list(shape), "chunks": chunks, "dtype": word, "fill_value": None}
    about |= {"compressor": None, "filters": None, "order": "C", "dimension_separator": "."}
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps(about))
    size = rows * row if shape else bits // 8
    expected = prod(shape) * bits // 8
    written = 0
    for number, pieces in enumerate(_cut(blocks, max(size, 1))):
        name = ".".join([str(number), *("0" for _ in shape[1:])])
        with (folder / name).open("xb") as file:
            held = sum(file.write(piece) for piece in pieces)
            file.write(bytes(size - held) if held < size else b"")
            written += held
    if written != expected:
        raise ContractLintError(f"{what} has {written:,} B, and {expected:,} are expected")


def _cut(blocks: Iterable[bytes], size: int) -> Iterator[Iterator[bytes]]:
    """A stream of bytes as streams of `size` bytes each; each must be used up before the next."""
    source = iter(blocks)
    left = [next(source, b"")]

    def one() -> Iterator[bytes]:
        room = size
        while room and left[0]:
            yield left[0][:room]
            taken = min(room, len(left[0]))
            left[0] = left[0][taken:] or next(source, b"")
            room -= taken

    while left[0]:
        yield one()


def _word(dtype: str, what: str) -> tuple[str, int]:
    """What zarr calls a dtype, and its bits."""
    bits = WORDS.get(dtype, ("", 0))[1]
    kind = _KINDS.get(dtype.rstrip("0123456789"))
    if dtype in _NAMED:
        return dtype, bits
    if kind is None or not bits:
        raise ContractLintError(f"{what} is {dtype}: Orbax has no word for it in this layout")
    return f"{'|' if bits == 8 else '<'}{kind}{bits // 8}", bits
