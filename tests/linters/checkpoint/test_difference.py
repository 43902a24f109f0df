"""Two checkpoints: what differs is found by its leaf, and how far it is agrees with numpy on whole arrays."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from math import prod
from pathlib import Path

import numpy
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.difference import LeafChange, difference, statistics
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.values import BLOCK, blocks
from contract_lint.plugins.pipeline.checkpoint_diff import checkpoint_diff
from contract_lint.plugins.report.checkpoint_diff import text

from .test_items import tree

save_file = pytest.importorskip("safetensors.numpy").save_file


def compared(a: Path, b: Path, *, values: bool = True) -> list[LeafChange]:
    return list(difference(read_checkpoint(a), read_checkpoint(b), values=values))


@pytest.mark.parametrize(
    "shape", [(), (0, 3), (7,), (BLOCK + 1,), (3, BLOCK - 1), (2, 3, BLOCK // 2 + 1), (2, BLOCK + 5), (1, 1, BLOCK * 2)]
)
def test_blocks_are_the_array_in_the_order_of_c(shape: tuple[int, ...]) -> None:
    array = numpy.arange(prod(shape)).reshape(shape)
    cut = [array[block].reshape(-1) for block in blocks(shape)]
    assert all(part.size <= BLOCK for part in cut)
    assert numpy.array_equal(numpy.concatenate(cut), array.reshape(-1))


def test_statistics_are_those_of_whole_arrays(tmp_path: Path) -> None:
    random = numpy.random.default_rng(0)
    one = random.standard_normal((3, BLOCK // 2 + 7))
    other = one.copy()
    other[1, 5] += 3
    other[2, 8:12] *= 1.5
    save_file({"same": one, "w": one}, tmp_path / "a.safetensors")
    save_file({"same": one, "w": other}, tmp_path / "b.safetensors")
    (change,) = compared(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
    assert change.values is not None and (change.kind, change.path) == ("values", "w")
    assert (change.values.elements, change.values.different) == (one.size, 5)
    assert change.values.largest == numpy.abs(one - other).max()
    assert change.values.relative == pytest.approx(numpy.linalg.norm(one - other) / numpy.linalg.norm(one))
    assert compared(tmp_path / "a.safetensors", tmp_path / "b.safetensors", values=False) == []


def test_nan_is_nan_and_integers_are_exact() -> None:
    nan, inf = float("nan"), float("inf")
    found = statistics([numpy.array([nan, 1.0, inf, 2.0])], [numpy.array([nan, nan, inf, 2.0])])
    assert (found.different, found.largest, found.relative, found.not_finite) == (1, 0.0, 0.0, (2, 3))
    large = 2**63 - 1
    found = statistics([numpy.array([large, 0])], [numpy.array([large - 1, 0])])
    assert (found.different, found.elements) == (1, 2)
    assert statistics([numpy.zeros(2)], [numpy.ones(2)]).relative == inf
    assert statistics([numpy.zeros(0)], [numpy.zeros(0)]).relative == 0.0


def test_leaves_shapes_and_dtypes(tmp_path: Path) -> None:
    arrays = {"a": numpy.ones(4, "float32"), "b": numpy.ones(4, "float32"), "c": numpy.ones((2, 2), "float32")}
    save_file(arrays, tmp_path / "a.safetensors")
    other = {"b": numpy.ones(4, "float64"), "c": numpy.ones(4, "float32"), "d": numpy.ones(1, "int8")}
    save_file(other, tmp_path / "b.safetensors")
    assert [(each.kind, each.path, each.before, each.after) for each in compared(*sorted(tmp_path.iterdir()))] == [
        ("removed", "a", "float32[4]", None),
        ("dtype", "b", "float32", "float64"),
        ("shape", "c", "float32[2, 2]", "float32[4]"),
        ("added", "d", None, "int8[1]"),
    ]


@pytest.mark.parametrize(("a", "b"), [("zarr", "zarr3"), ("zarr3", "ocdbt3"), ("run/300", "run")])
def test_one_state_in_two_layouts_is_the_same(made: Path, a: str, b: str) -> None:
    assert compared(made / a, made / b) == []


def test_of_two_steps_of_one_state_the_data_are_further(made: Path) -> None:
    (change,) = compared(made / "run/200", made / "run")
    assert (change.kind, change.path) == ("content", "data/metadata: next_index")
    assert (change.before, change.after) == ("200", "300")


def test_a_random_key_keeps_its_path_and_the_state_is_named_as_if_it_were_alone(made: Path, tmp_path: Path) -> None:
    for name in ("mine", "rng"):
        shutil.copytree(made / "items/1" / name, tmp_path / "a" / name)
    shutil.copytree(made / "items/1/state", tmp_path / "a/state")
    (tmp_path / "a/commit_success.txt").touch()
    changes = compared(tmp_path / "a", made / "zarr")
    keys = ["mine/seed/checkpoint", "rng/jax_random_key/checkpoint"]
    keys += ["mine/seed_metadata/metadata", "rng/jax_random_key_metadata/metadata"]
    assert [(each.kind, each.path) for each in changes] == [("removed", path) for path in keys]


def test_trees_that_are_one_array(made: Path) -> None:
    for layout in ("zarr", "zarr3"):
        assert compared(made / "one_ocdbt", made / f"one_{layout}") == []
    changes = compared(made / "one_zarr", made / "items/1/mean")
    assert [(each.kind, each.path) for each in changes] == [("removed", "."), ("added", "checkpoint")]


def test_a_chunk_that_was_swapped_is_found(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "zarr", tmp_path / "zarr")
    shutil.copy(tmp_path / "zarr/params.embed/0.0", tmp_path / "zarr/params.embed/1.3")
    (change,) = compared(made / "zarr", tmp_path / "zarr")
    assert change.values is not None and (change.path, change.values.different) == ("params/embed", 16 * 2)


def test_a_chunk_that_is_not_stored_is_said_beside_what_was_read_for_it(tmp_path: Path) -> None:
    for name in ("whole", "lost"):
        tree(tmp_path / name)
        (tmp_path / name / "_CHECKPOINT_METADATA").write_text("{}")
        metadata = json.loads((tmp_path / name / "_METADATA").read_text())
        metadata["store_array_data_equal_to_fill_value"] = True
        (tmp_path / name / "_METADATA").write_text(json.dumps(metadata))
    whole, lost = str(tmp_path / "whole"), str(tmp_path / "lost")
    assert checkpoint_diff(whole, whole).holes == ()
    (tmp_path / "lost/params.w/0").unlink()
    for values in (True, False):
        found = checkpoint_diff(whole, lost, values=values)
        assert [(hole.side, hole.path) for hole in found.holes] == [("b", "params/w")]
        said = " ".join(text(found, 80).split())
        assert f"not stored params/w: in {lost} 1 of 1 chunks are not stored (first: 0)" in said
        assert (", read as the fill value" in said) == values and "chunks are not stored." in said
        assert found.as_json()["not_stored"][0]["side"] == "b"


def test_orbax_and_safetensors_side_by_side(made: Path, tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    arrays = {}
    for folder in (made / "zarr").glob("params.*"):
        store = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{folder}/"}}
        arrays[folder.name] = numpy.asarray(tensorstore.open(store).result().read().result())
    save_file(arrays, tmp_path / "a.safetensors")
    changes = compared(made / "zarr", tmp_path / "a.safetensors")
    assert {each.kind for each in changes} == {"removed"}
    assert not [each for each in changes if each.path.startswith("params/")]


@pytest.mark.parametrize("text", [b"x" * 99, b""])
def test_contents_that_are_damaged(made: Path, tmp_path: Path, text: bytes) -> None:
    shutil.copytree(made / "zarr", tmp_path / "zarr")
    (tmp_path / "zarr/params.layers.w/3.0").write_bytes(text)
    with pytest.raises(ContractLintError, match=r"params/layers/w cannot be read: its bytes are damaged"):
        compared(made / "zarr", tmp_path / "zarr")


def test_memory_is_that_of_blocks(tmp_path: Path) -> None:
    """Arrays of 64 MiB each, as files with holes in three of four bytes: what is held at once is a few blocks."""
    for name in ("a", "b"):
        save_file({"w": numpy.zeros((1, 1), "float32")}, tmp_path / f"{name}.safetensors")
        text = b'{"w":{"dtype":"F32","shape":[16777216],"data_offsets":[0,67108864]}}'
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        with path.open("ab") as file:
            file.write(bytes(16 << 20))
            file.truncate(8 + len(text) + (64 << 20))
    tracemalloc.start()
    try:
        assert compared(tmp_path / "a.safetensors", tmp_path / "b.safetensors") == []
        assert tracemalloc.get_traced_memory()[1] < 16 * BLOCK * 8
    finally:
        tracemalloc.stop()
