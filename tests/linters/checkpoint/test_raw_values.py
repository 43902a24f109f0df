"""The bytes of an array are the same whatever layout Orbax stored it in."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.values import Values


def digests(path: Path) -> dict[str, tuple[int, str]]:
    """Of each array: its bytes, and their digest."""
    checkpoint = read_checkpoint(path)
    (item,) = checkpoint.items
    values = Values(checkpoint, item)
    read = {leaf.path: b"".join(values.raw(leaf)) for leaf in item.leaves.values() if leaf.kind == "array"}
    return {path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in read.items()}


def test_every_layout_gives_the_same_bytes(made: Path) -> None:
    first = digests(made / "zarr")
    assert first["params/layers/w"][0] == 64 * 256 * 4 and first["params/layers/scale"][0] == 8 * 2
    assert first["step"] == (4, hashlib.sha256(numpy.int32(3).tobytes()).hexdigest())
    for layout in ("ocdbt", "zarr3", "ocdbt3"):
        assert digests(made / layout) == first
