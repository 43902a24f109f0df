"""Checkpoints made by Orbax: read as it reads them, whole ones whole, and each kind of damage where it was done."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Checkpoint
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.ocdbt import read_ocdbt
from contract_lint.linters.checkpoint.read import read_checkpoint

TREES = ("ocdbt", "zarr", "zarr3", "ocdbt3")
NAMING = ("_METADATA", "manifest.ocdbt")
STEP = "300/_CHECKPOINT_METADATA"
SHAPES = {"embed": (32, 8), "layers/w": (64, 256), "layers/scale": (8,), "blocks/0": (4,), "blocks/1": (10,)}


def said(path: Path) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in judge_checkpoint(CheckpointEvidence(read_checkpoint(path)))]


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        shutil.copytree(made / name, tmp_path / name)
        return tmp_path / name

    return copy


@pytest.mark.parametrize("name", TREES)
def test_shapes_are_global_and_dtypes_as_saved(made: Path, name: str) -> None:
    checkpoint = read_checkpoint(made / name)
    assert said(made / name) == []
    for start in ("params", "opt_state/1/0/mu", "opt_state/1/0/nu"):
        saved = {path: checkpoint.arrays[f"{start}/{path}"] for path in SHAPES}
        assert {path: leaf.shape for path, leaf in saved.items()} == SHAPES
        assert {path for path, leaf in saved.items() if leaf.dtype == "bfloat16"} == {"layers/scale"}
    rest = {path: (leaf.shape, leaf.dtype) for path, leaf in checkpoint.arrays.items() if "/" not in path}
    assert rest == {"step": ((), "int32"), "rng": ((2,), "uint32"), "count": ((), "int64")}
    assert [leaf.kind for path, leaf in checkpoint.leaves.items() if path in ("absent", "words")] == (
        ["empty", "text"] if name == "ocdbt" else ["empty"]
    )


def test_the_shape_of_a_shard_is_another(made: Path) -> None:
    """Else the test above would prove nothing: what Orbax notes beside a leaf is not its shape."""
    tree = json.loads((made / "zarr/_METADATA").read_text())["tree_metadata"]
    assert tree["('params', 'embed')"]["value_metadata"]["write_shape"] == [16, 2]


def test_an_index_of_several_levels_is_read_whole(made: Path) -> None:
    folder = Folder(made / "tree", "tree")
    found, holes = read_ocdbt(folder, "", folder.files())
    assert sorted(found) == sorted((made / "tree.txt").read_text().splitlines()) and len(found) == 600 and not holes


def test_a_run_of_flax_and_optax(made: Path) -> None:
    checkpoint = read_checkpoint(made / "run")
    evidence = CheckpointEvidence(checkpoint)
    assert (checkpoint.step.folder, [step.number for step in checkpoint.steps]) == ("300", [200, 300])
    assert evidence.root == "state/params" and set(evidence.parameters) == set(SHAPES)
    masked = {name: (set(slot.entries), slot.masked) for name, slot in evidence.slots.items()}
    trained = {"embed", "layers/w", "layers/scale"}
    assert masked == dict.fromkeys(("mu", "nu"), (trained, set(SHAPES) - trained))
    assert judge_checkpoint(evidence) == [] and checkpoint.has("data") and checkpoint.has("opt_state")


def _not_marker(folder: str, names: list[str]) -> set[str]:
    """A step of which the folders of its items are there, and commit_success.txt everywhere."""
    return {name for name in names if name != "commit_success.txt" and name not in ("state", "data")}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("text", "place"), [("", "1:1"), ("{", "1:2"), ("\0", "1:1")])
def test_an_item_of_json_is_json(copied: Callable[[str], Path], text: str, place: str, declared: bool) -> None:
    run = copied("run")
    (run / "300/data/metadata").write_text(text)
    if not declared:
        (run / STEP).unlink()
    with pytest.raises(ContractLintError, match=f"run/300/data/metadata:{place}: is no JSON"):
        read_checkpoint(run)


def test_a_marker_is_not_what_was_saved(copied: Callable[[str], Path]) -> None:
    run = copied("run")
    (run / STEP).unlink()
    assert read_checkpoint(run).has("data")
    (run / "300/data/metadata").unlink()
    assert not read_checkpoint(run).has("data")


@pytest.mark.parametrize(
    ("leave", "step", "expected"),
    [
        (lambda run: (run / "300").rename(run / "300.orbax-checkpoint-tmp"), "200", ["CKP601"]),
        (lambda run: shutil.copytree(run / "300", run / "400.orbax-checkpoint-tmp-17"), "300", ["CKP601"]),
        (lambda run: (run / "400").mkdir(), "300", ["CKP601"]),
        (lambda run: (run / "300/commit_success.txt").unlink(), "200", ["CKP601"]),
        (lambda run: shutil.copytree(run / "300", run / "100.orbax-checkpoint-tmp-17"), "300", ["CKP602"]),
        (lambda run: (run / "300/state.orbax-checkpoint-tmp").mkdir(), "300", []),
        (lambda run: (run / "300/data.orbax-checkpoint-tmp").write_text(""), "300", ["CKP602"]),
        (lambda run: shutil.rmtree(run / "300/data"), "300", ["CKP610"]),
        (lambda run: (run / "300/data/metadata").unlink(), "300", ["CKP610"]),
        (lambda run: (run / "300/data/metadata").write_text("[3, null]"), "300", []),
        (lambda run: [(run / "300/state" / name).unlink() for name in NAMING], "300", ["CKP609"]),
        (lambda run: [shutil.rmtree(run / "300/state"), (run / STEP).unlink()], "300", ["CKP609", "CKP616"]),
        (lambda run: shutil.copytree(run / "300", run / "400", ignore=_not_marker), "300", ["CKP601"]),
    ],
)
def test_the_last_committed_step_is_found(
    copied: Callable[[str], Path], leave: Callable[[Path], object], step: str, expected: list[str]
) -> None:
    run = copied("run")
    leave(run)
    checkpoint = read_checkpoint(run)
    found = judge_checkpoint(CheckpointEvidence(checkpoint))
    assert (checkpoint.step.folder, [each.code for each in found]) == (step, expected)
    assert all(step in each.message for each in found if each.code == "CKP601")


@pytest.mark.parametrize("name", ["4.orbax-checkpoint-tmp", "state.orbax-checkpoint-tmp", "state"])
def test_a_save_that_ended_while_each_process_still_had_its_own_database(
    copied: Callable[[str], Path], name: str
) -> None:
    """There is nothing of the step yet but `ocdbt.process_0`, whose number is none of a step."""
    root = copied("ocdbt")
    step = root.rename(root.parent / name)
    for path in step.iterdir():
        if path.name != "ocdbt.process_0":
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
    found = [code for code, _ in said(step)]
    assert found == (["CKP601"] if "tmp" in name else []) + ["CKP609"]


def _largest(root: Path) -> Path:
    return max((path for path in root.rglob("*") if path.is_file() and "/d/" in path.as_posix()), key=_size)


def _size(path: Path) -> int:
    return path.stat().st_size


def _longer(path: Path, more: int) -> None:
    """With zeros behind it, which no disk holds."""
    os.truncate(path, _size(path) + more)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _halve(path: Path) -> None:
    """The last bytes of a file of a database may be an index that was merged into another."""
    path.write_bytes(path.read_bytes()[: _size(path) // 2])


@pytest.mark.parametrize("name", ["ocdbt", "ocdbt3"])
@pytest.mark.parametrize("damage", [_halve, Path.unlink])
def test_a_shard_of_a_database_is_cut_or_gone(
    copied: Callable[[str], Path], name: str, damage: Callable[[Path], object]
) -> None:
    root = copied(name)
    damage(_largest(root))
    ((code, message),) = said(root)
    assert code == "CKP609" and "params/layers/w" in message


@pytest.mark.parametrize(
    ("name", "chunk", "damage", "expected"),
    [
        ("zarr", "params.embed/1.2", Path.unlink, "1 of 8 chunks are not stored (first: 1.2)"),
        ("zarr", "params.layers.w/3.0", _cut, "chunk 3.0: "),
        ("zarr", "params.layers.w/3.0", lambda path: path.write_bytes(b""), "chunk 3.0: 0 B are stored"),
        ("zarr", "params.layers.w/3.0", lambda path: path.write_bytes(b"x" * 99), "is no Zstandard frame"),
        (
            "zarr",
            "params.layers.w/3.0",
            lambda path: shutil.copy(path.parent.parent / "step/0", path),
            "holds 4 B once",
        ),
        ("zarr", "params.layers.w/3.0", lambda path: _longer(path, 1), "B are stored, the frame has"),
        (
            "zarr",
            "params.layers.w/3.0",
            lambda path: path.write_bytes(path.read_bytes() + bytes(1 << 17)),
            "more than any compressor makes of",
        ),
        ("zarr3", "params.layers.w/c/3/0", lambda path: _longer(path, 1), "its index, the last of"),
        ("zarr", "params.embed/.zarray", Path.unlink, "no array is stored"),
        ("zarr3", "params.embed/c/1/2", Path.unlink, "1 of 8 chunks are not stored (first: c/1/2)"),
        ("zarr3", "step/c", Path.unlink, "1 of 1 chunks are not stored (first: c)"),
        ("zarr3", "params.layers.w/c/3/0", _cut, "chunk c/3/0: "),
    ],
)
def test_a_chunk_of_a_folder_is_cut_or_gone(
    copied: Callable[[str], Path], name: str, chunk: str, damage: Callable[[Path], object], expected: str
) -> None:
    root = copied(name)
    damage(root / chunk)
    ((code, message),) = said(root)
    assert code == "CKP609" and expected in message and chunk.partition("/")[0].replace(".", "/") in message


@pytest.mark.parametrize(
    ("name", "chunk", "expected"),
    [
        ("zarr", "params.embed/2.0", "chunk 2.0 is stored and lies outside of the grid of 2 x 4"),
        ("zarr", "params.embed/0", "chunk 0 is stored and lies outside of the grid of 2 x 4"),
        ("zarr", "step/1", "chunk 1 is stored and lies outside of the grid of 1"),
        ("zarr3", "params.embed/c/1/4", "chunk c/1/4 is stored and lies outside of the grid of 2 x 4"),
        ("zarr", "params.embed/words", None),
    ],
)
def test_a_chunk_outside_of_the_grid(
    copied: Callable[[str], Path], name: str, chunk: str, expected: str | None
) -> None:
    root = copied(name)
    array = root / chunk.partition("/")[0]
    shutil.copy(
        max((path for path in array.rglob("*") if path.is_file() and path.name[0].isdigit()), key=_size), root / chunk
    )
    found = said(root)
    assert [code for code, _ in found] == (["CKP609"] if expected else [])
    assert expected is None or expected in found[0][1]


def test_arrays_of_numpy_in_another_order_are_saved_as_all_are(made: Path) -> None:
    """`>f4` and the order F: a checkpoint where an array lies so was not made by Orbax."""
    assert {leaf.dtype for leaf in read_checkpoint(made / "turned").arrays.values()} == {"float32"}
    assert said(made / "turned") == []


def test_a_shape_that_was_made_smaller(copied: Callable[[str], Path]) -> None:
    path = copied("zarr") / "params.embed/.zarray"
    path.write_text(path.read_text().replace('"shape":[32,8]', '"shape":[16,8]'))
    messages = [message for _, message in said(path.parent.parent)]
    assert any("chunk 1.0 is stored and lies outside of the grid of 1 x 4; so are 3 more" in each for each in messages)


def test_an_array_that_no_tree_names(copied: Callable[[str], Path]) -> None:
    root = copied("zarr")
    shutil.copytree(root / "params.embed", root / "params.old")
    assert said(root) == [
        ("CKP604", "1 array of the step is stored, and its tree does not name it (first: params.old)")
    ]


def test_without_its_tree_a_step_is_not_whole(
    copied: Callable[[str], Path],
) -> None:
    root = copied("zarr")
    whole = read_checkpoint(root)
    (root / "_METADATA").unlink()
    assert _shapes(read_checkpoint(root)) == _shapes(whole)
    assert said(root) == [
        ("CKP609", "the step is not all there: _METADATA is not there, which names its leaves"),
    ]


def _shapes(checkpoint: Checkpoint) -> dict[str, tuple[int, ...] | None]:
    return {path: leaf.shape for path, leaf in checkpoint.arrays.items()}
