"""No array is read: the bytes that reading a checkpoint takes are counted, and an array is larger than all of them."""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

HEADERS = 64
"""Bytes of one chunk that may be looked at: the frame's header, and that of each of its blocks."""


def _read_by_this_process() -> int:
    """All bytes so far, as the kernel counts them: TensorStore's among them."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.parametrize("name", ["zarr", "zarr3"])
def test_of_a_chunk_its_headers_alone_are_read(made: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, int] = {}
    plain = Folder.read_range

    def counted(self: Folder, path: str, offset: int, length: int) -> bytes:
        data = plain(self, path, offset, length)
        read[path] = read.get(path, 0) + len(data)
        return data

    monkeypatch.setattr(Folder, "read_range", counted)
    checkpoint = read_checkpoint(made / name)
    assert judge_checkpoint(CheckpointEvidence(checkpoint)) == []
    chunks = {path for path in checkpoint.files if path.rpartition("/")[2][0].isdigit() or "/c/" in path}
    assert "params.layers.w/zarr.json" in read or "params.layers.w/.zarray" in read
    assert len(chunks) > 50 and max(read.get(path, 0) for path in chunks) <= HEADERS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts the bytes that a process reads")
@pytest.mark.parametrize("name", ["ocdbt", "ocdbt3", "zarr", "zarr3", "run"])
def test_all_that_is_read_is_smaller_than_the_arrays(made: Path, name: str) -> None:
    checkpoint = read_checkpoint(made / name)  # TensorStore is loaded
    idle = -_read_by_this_process() + _read_by_this_process()
    begin = _read_by_this_process()
    read_checkpoint(made / name)
    took = _read_by_this_process() - begin - idle
    largest = max(prod(leaf.shape or ()) for leaf in checkpoint.arrays.values()) * 4
    assert 0 < took < largest, (took, largest)
