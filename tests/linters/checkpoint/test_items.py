"""Which folder of a step holds a tree of arrays: the step, or each of its items."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

ZARRAY = {
    "zarr_format": 2,
    "shape": [2],
    "chunks": [2],
    "dtype": "<f4",
    "fill_value": None,
    "filters": None,
    "compressor": None,
    "order": "C",
}
ZARR_JSON = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}
HANDLERS = {
    "state": "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler",
    "data": "orbax.checkpoint._src.handlers.json_checkpoint_handler.JsonCheckpointHandler",
}


def tree(folder: Path, version: int = 2) -> None:
    """A tree of one numpy array, as Orbax leaves it in plain zarr: it lay on no device."""
    array = folder / "params.w"
    array.mkdir(parents=True)
    name, chunk, metadata = (".zarray", "0", ZARRAY) if version == 2 else ("zarr.json", "c/0", ZARR_JSON)
    (array / name).write_text(json.dumps(metadata))
    (array / chunk).parent.mkdir(exist_ok=True)
    (array / chunk).write_bytes(bytes(8))
    keys = [{"key": "params", "key_type": 2}, {"key": "w", "key_type": 2}]
    entry = {"key_metadata": keys, "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False}}
    said: Mapping[str, Any] = {"tree_metadata": {"('params', 'w')": entry}, "use_zarr3": version == 3}
    (folder / "_METADATA").write_text(json.dumps(said))


def step(folder: Path, version: int = 2, *, declared: bool = True) -> Path:
    tree(folder / "state", version)
    (folder / "data").mkdir()
    (folder / "data/metadata").write_text("{}")
    about = {"commit_timestamp_nsecs": 1, "item_handlers": HANDLERS if declared else None}
    (folder / "_CHECKPOINT_METADATA").write_text(json.dumps(about))
    return folder


def said(path: Path) -> list[str]:
    return [each.message for each in judge_checkpoint(CheckpointEvidence(read_checkpoint(path)))]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("version", [2, 3])
def test_arrays_of_an_item_are_not_of_the_step(tmp_path: Path, version: int, declared: bool) -> None:
    path = step(tmp_path / "1", version, declared=declared)
    assert said(path) == []
    assert {item.name for item in read_checkpoint(path).items} == {"state", "data"}
    (path / "state/_METADATA").unlink()
    assert any("_METADATA is not there" in message for message in said(path)), said(path)


@pytest.mark.parametrize("version", [2, 3])
def test_a_step_that_is_one_tree(tmp_path: Path, version: int) -> None:
    tree(tmp_path / "1", version)
    (tmp_path / "1/_CHECKPOINT_METADATA").write_text(json.dumps({"item_handlers": HANDLERS["state"]}))
    assert said(tmp_path / "1") == []
    (tmp_path / "1/_METADATA").unlink()
    assert any("_METADATA is not there" in message for message in said(tmp_path / "1"))


def test_the_item_that_is_another_kind_of_store(tmp_path: Path) -> None:
    """What lies in a folder of a folder of an item belongs to whoever wrote that: a random key is one."""
    path = step(tmp_path / "1", declared=False)
    tree(path / "rng/jax_random_key")
    assert said(path) == []


def test_what_a_save_left_of_an_item_is_not_counted(tmp_path: Path) -> None:
    path = step(tmp_path / "1")
    whole = read_checkpoint(path)
    shutil.copytree(path / "state", path / "state.orbax-checkpoint-tmp-7")
    assert read_checkpoint(path).arrays.keys() == whole.arrays.keys()
    (message,) = said(path)
    assert "state.orbax-checkpoint-tmp-7" in message
    shutil.rmtree(path / "state")  # now it is all there is of it
    assert any("state" in message for message in said(path)) and read_checkpoint(path).absent_items == ("state",)


@pytest.mark.parametrize("name", ["items", "items3"])
def test_items_in_plain_zarr_by_orbax(made: Path, name: str, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(made / name)
    assert judge_checkpoint(CheckpointEvidence(checkpoint)) == []
    assert {"state/params/embed", "mean/checkpoint"} <= checkpoint.arrays.keys()
    shutil.copytree(made / name, tmp_path / name)
    (tmp_path / name / "1/state/_METADATA").unlink()
    assert any("_METADATA is not there" in message for message in said(tmp_path / name))
