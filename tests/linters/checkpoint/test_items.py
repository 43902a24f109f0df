"""Which folders of a step hold a tree of arrays: the step, each of its items, or what lies in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.values import Values

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


@pytest.mark.parametrize(("version", "layout"), [(2, "zarr"), (3, "zarr3")])
@pytest.mark.parametrize("deep", ["rng/jax_random_key", "a/b/c/d"])
def test_a_tree_within_an_item(tmp_path: Path, version: int, layout: str, deep: str) -> None:
    path = step(tmp_path / "1", declared=False)
    tree(path / deep, version)
    if deep.startswith("rng"):
        (path / "rng/jax_random_key_metadata").mkdir()
        (path / "rng/jax_random_key_metadata/metadata").write_text('{"typed": true}')
    assert said(path) == []
    found = {item.name: item.layout for item in read_checkpoint(path).items}
    assert found[deep] == layout and f"{deep}/params/w" in read_checkpoint(path).arrays
    (path / deep / ("params.w/0" if version == 2 else "params.w/c/0")).unlink()
    (message,) = said(path)
    assert message.startswith(
        f"{deep}/params/w {'is not all there' if version == 2 else 'reads in part as the fill value'}: 1 of"
    )


@pytest.mark.parametrize(("array", "found"), [("1/extra/x", "extra/x"), ("1/state/extra/x", "state/extra/x")])
def test_a_tree_that_was_saved_into_the_folder_of_another(tmp_path: Path, array: str, found: str) -> None:
    path = step(tmp_path / "1")
    tree((tmp_path / array).parent)
    assert said(path) == []
    assert f"{found.rpartition('/')[0]}/params/w" in read_checkpoint(path).arrays
    (tmp_path / array).parent.joinpath("params.w/0").unlink()
    assert len(said(path)) == 1


@pytest.mark.parametrize(
    ("name", "handler", "expected"),
    [
        ("mine/a.npz", "my.Handler", "mine holds arrays that are not looked at: mine/a.npz as my.Handler saves them"),
        ("mine/deep/a.safetensors", None, "mine holds arrays that are not looked at: mine/deep/a.safetensors"),
        ("mine/x/.zarray", "my.Handler", "mine holds arrays that are not looked at: mine/x/.zarray as my.Handler"),
        ("mine/checkpoint", None, "mine holds arrays that are not looked at: mine/checkpoint"),
        ("mine/ocdbt.process_1/manifest.ocdbt", "my.Handler", "mine holds arrays that are not looked at: mine/ocdbt"),
        ("mine/vocabulary.txt", "my.Handler", None),
        ("mine/iterator.json", None, None),
    ],
)
def test_arrays_that_cannot_be_read_are_told(
    tmp_path: Path, name: str, handler: str | None, expected: str | None
) -> None:
    path = step(tmp_path / "1")
    about = json.loads((path / "_CHECKPOINT_METADATA").read_text())
    if handler is not None:
        about["item_handlers"]["mine"] = handler
        (path / "_CHECKPOINT_METADATA").write_text(json.dumps(about))
    (path / name).parent.mkdir(parents=True)
    (path / name).write_bytes(b"x")
    found = judge_checkpoint(CheckpointEvidence(read_checkpoint(path)))
    assert [(each.code, each.severity) for each in found] == ([("CKP609", "info")] if expected else [])
    assert expected is None or found[0].message.startswith(expected)


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
    assert {"state/params/embed", "mean/checkpoint", *KEYS} <= checkpoint.arrays.keys()
    shutil.copytree(made / name, tmp_path / name)
    (tmp_path / name / "1/state/_METADATA").unlink()
    assert any("_METADATA is not there" in message for message in said(tmp_path / name))


KEYS = ("rng/jax_random_key/checkpoint", "mine/seed/checkpoint", "numpy/np_random_key/1")


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ("rng/jax_random_key/checkpoint/0", "rng/jax_random_key/checkpoint is not all there"),
        ("rng/jax_random_key/checkpoint", "rng/jax_random_key/checkpoint is not all there"),
        ("rng/jax_random_key", "rng is not all there: it is a random key, and no array is in rng/jax_random_key"),
        ("rng/jax_random_key_metadata", "rng is not all there: it is a random key, and rng/jax_random_key_metadata/"),
        ("mine/seed", "mine is not all there: it is a random key, and no array is in mine/seed"),
        ("numpy/np_random_key/d", "numpy/np_random_key is cut: a part of the index is gone"),
        ("numpy/np_random_key/manifest.ocdbt", "numpy/np_random_key/1 is not all there"),
        ("numpy/np_random_key/_METADATA", "numpy/np_random_key is not all there: _METADATA is not there"),
        ("numpy/np_random_key/_strings.json", "numpy/np_random_key/0 is not all there: _strings.json"),
        # Every restore does without: see test_random_keys.
        ("rng/jax_random_key/_METADATA", None),
        ("mean/_METADATA", None),
    ],
)
def test_a_part_of_a_random_key_is_lost(made: Path, tmp_path: Path, lost: str, expected: str | None) -> None:
    shutil.copytree(made / "items/1", tmp_path / "1")
    path = tmp_path / "1" / lost
    (shutil.rmtree if path.is_dir() else Path.unlink)(path)
    messages = said(tmp_path / "1")
    assert [expected is not None and each.startswith(expected) for each in messages] == [True] * (expected is not None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{}", "has no `typed`; Orbax restores no random key"), ('{"typed": false}', None), ('{"typed": 1}', None)],
)
def test_what_is_said_of_a_random_key(made: Path, tmp_path: Path, text: str, expected: str | None) -> None:
    shutil.copytree(made / "items/1", tmp_path / "1")
    (tmp_path / "1/mine/seed_metadata/metadata").write_text(text)
    assert [expected is not None and expected in each for each in said(tmp_path / "1")] == [True] * bool(expected)


def test_items_in_an_item_by_orbax(made: Path, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(made / "nested")
    assert judge_checkpoint(CheckpointEvidence(checkpoint)) == []
    layouts = {"outer": None, "outer/first": "ocdbt", "outer/second": "zarr", "outer/rng/jax_random_key": "zarr"}
    assert {item.name: item.layout for item in checkpoint.items} == layouts
    for lost, expected in (
        ("second/params.embed/1.2", "outer/second/params/embed is not all there: 1 of 8 chunks"),
        ("first/d", "outer/first is cut: a part of the index"),
        ("about/metadata", "outer is not all there: outer/about holds nothing but commit_success.txt"),
        ("rng/jax_random_key/checkpoint/0", "outer/rng/jax_random_key/checkpoint is not all there"),
        ("rng/jax_random_key", "outer is not all there: it is a random key, and no array is in outer/rng/jax"),
    ):
        shutil.copytree(made / "nested/1", tmp_path / "1")
        path = tmp_path / "1/outer" / lost
        (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        found = said(tmp_path / "1")
        assert found and found[0].startswith(expected), (lost, found)
        shutil.rmtree(tmp_path / "1")
    shutil.copytree(made / "nested/1", tmp_path / "1")
    (tmp_path / "1/outer/about/metadata").write_text("{")
    with pytest.raises(ContractLintError, match="1/outer/about/metadata:1:2: is no JSON"):
        read_checkpoint(tmp_path / "1")


@pytest.mark.parametrize("layout", ["ocdbt", "zarr", "zarr3"])
def test_a_tree_that_is_one_array(made: Path, tmp_path: Path, layout: str) -> None:
    """As the step itself, and as an item of one."""
    for at, name in (("1", ""), ("2/state", "state")):
        shutil.copytree(made / f"one_{layout}", tmp_path / at)
        if name:
            about = json.dumps({"item_handlers": {name: HANDLERS["state"]}})
            (tmp_path / "2/_CHECKPOINT_METADATA").write_text(about)
        checkpoint = read_checkpoint(tmp_path / at.partition("/")[0])
        assert judge_checkpoint(CheckpointEvidence(checkpoint)) == []
        assert {path: (leaf.shape, leaf.dtype) for path, leaf in checkpoint.arrays.items()} == {
            name: ((32, 8), "float32")
        }
        assert checkpoint.arrays[name].placed is not None
    (item,) = read_checkpoint(tmp_path / "1").items
    (values,) = Values(read_checkpoint(tmp_path / "1"), item).of(item.leaves[""])
    assert values.size == 256 and values.any()
    lost = {"ocdbt": "d", "zarr": "1.2", "zarr3": "c/1/2"}[layout]
    path = tmp_path / "1" / lost
    (shutil.rmtree if path.is_dir() else Path.unlink)(path)
    (message,) = said(tmp_path / "1")
    assert message.startswith("the step is ")
