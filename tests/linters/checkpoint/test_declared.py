"""Items that are not what `_CHECKPOINT_METADATA` says of them, and steps that do not say what their items are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

CHILD = Path(__file__).with_name("declared_child.py")
ABOUT = "_CHECKPOINT_METADATA"
NAMING = ("_METADATA", "manifest.ocdbt", "d")
HEAD = 'contract: 1\nname: small\nstep: { train: { entry: "m:build" } }\n'
Change = Callable[[Path], object]


def said(path: Path) -> list[tuple[str, str, str]]:
    found = judge_checkpoint(CheckpointEvidence(read_checkpoint(path)))
    return [(each.code, each.severity, each.message) for each in found]


def drop(folder: Path, *names: str) -> None:
    for name in names:
        (shutil.rmtree if (folder / name).is_dir() else Path.unlink)(folder / name)


def swap(step: Path, one: str, other: str) -> None:
    (step / one).rename(step / "aside")
    (step / other).rename(step / one)
    (step / "aside").rename(step / other)


def declare(step: Path, **handlers: str) -> None:
    """Other handlers of items than those that saved them."""
    about = json.loads((step / ABOUT).read_text())
    about["item_handlers"] |= handlers
    (step / ABOUT).write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda step: swap(step, "data", "mean"), ["it was saved as JSON, and there is a tree of 1 leaf"]),
        (lambda step: swap(step, "data", "mean"), ["it was saved as one array by itself, and there is metadata"]),
        (lambda step: swap(step, "state", "mean"), ["it was saved as one array by itself, and there is a tree of"]),
        (lambda step: swap(step, "state", "mean"), ["state/checkpoint: is a folder, and this is a tree; Orbax opens"]),
        (lambda step: swap(step, "state", "data"), ["it was saved as a tree of arrays, and state/_METADATA is not"]),
        (lambda step: drop(step / "data", "metadata"), ["the item data was saved with this step, and is not there"]),
        (lambda step: drop(step / "mean", "_METADATA", "checkpoint/.zarray"), ["by itself, and there is array_metada"]),
        (lambda step: drop(step / "mean", "_METADATA"), []),
        (lambda step: declare(step, data="orbax.a.CompositeCheckpointHandler"), ["saved as items, and there is metad"]),
        (lambda step: declare(step, state="orbax.a.CompositeCheckpointHandler"), ["as items, and there is a tree of"]),
        (lambda step: declare(step, rng="orbax.a.CompositeCheckpointHandler"), []),
        (lambda step: declare(step, data="my.Handler", mean="my.Other"), []),
        (lambda step: declare(step, data="orbax.a.ProtoCheckpointHandler"), []),
    ],
)
def test_an_item_is_what_it_was_saved_as(made: Path, tmp_path: Path, change: Change, expected: list[str]) -> None:
    shutil.copytree(made / "items/1", tmp_path / "1")
    change(tmp_path / "1")
    found = said(tmp_path / "1")
    assert all(severity == "error" for _, severity, _ in found) and bool(found) == bool(expected), found
    assert all(any(words in message for _, _, message in found) for words in expected), found


def test_an_array_of_a_tree_may_be_called_as_one_by_itself_is(made: Path, tmp_path: Path) -> None:
    """In a database it restores, in a folder of its own it does not."""
    handler = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler"
    for name, expected in (("state", 0), ("mean", 1)):
        (tmp_path / name).mkdir()
        shutil.copytree(
            made / "items/1" / ("numpy/np_random_key" if name == "state" else "mean"), tmp_path / name / "x"
        )
        (tmp_path / name / ABOUT).write_text(json.dumps({"item_handlers": {"x": handler}}))
        assert len([each for each in said(tmp_path / name) if "is a folder, and this is a tree" in each[2]]) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda step: None, None),
        (lambda step: drop(step, ABOUT), None),
        (lambda step: drop(step, *NAMING), "the step is not all there: it has ocdbt.process_*, and manifest.ocdbt"),
        (lambda step: drop(step, ABOUT, *NAMING), "the step is not all there: it has ocdbt.process_*"),
        (lambda step: drop(step, *NAMING, "ocdbt.process_0"), "it was saved as a tree of arrays, and _METADATA is"),
        (lambda step: drop(step, ABOUT, *NAMING, "ocdbt.process_0"), "with arrays only, and none is there"),
    ],
)
def test_a_step_that_was_a_tree(made: Path, tmp_path: Path, change: Change, expected: str | None) -> None:
    shutil.copytree(made / "ocdbt", tmp_path / "1")
    change(tmp_path / "1")
    found = said(tmp_path / "1")
    assert [code for code, severity, _ in found if severity == "error"] == ["CKP609"] * (expected is not None), found
    assert expected is None or expected in found[0][2]


@pytest.mark.parametrize(
    ("name", "handlers"), [("x.msgpack", {}), ("x.msgpack", None), ("x.npz", {"arrays": "my.Handler"})]
)
def test_a_step_of_which_no_array_was_read_is_not_complete(
    tmp_path: Path, made: Path, name: str, handlers: dict[str, str] | None
) -> None:
    step = tmp_path / "1"
    (step / "arrays").mkdir(parents=True)
    (step / "arrays" / name).write_text("x")
    (step / ABOUT).write_text(json.dumps({} if handlers is None else {"item_handlers": handlers}))
    assert [(code, severity) for code, severity, _ in said(step)] == [("CKP609", "error"), ("CKP609", "info")]
    assert said(step)[0][2].startswith("1 holds no array that can be read here")
    shutil.copytree(made / "items/1/state", step / "state")
    assert {severity for _, severity, _ in said(step)} <= {"info", "warning"}


@pytest.mark.parametrize("left", ["checkpoint/0", "_sharding", "array_metadatas/process_0", None])
def test_what_is_left_of_an_array_that_nothing_declares(made: Path, tmp_path: Path, left: str | None) -> None:
    shutil.copytree(made / "items/1", tmp_path / "1")
    drop(tmp_path / "1", ABOUT)
    for path in sorted((tmp_path / "1/mean").rglob("*")):
        if left is not None and path.is_file() and path != tmp_path / "1/mean" / left:
            path.unlink()
    errors = [message for _, severity, message in said(tmp_path / "1") if severity == "error"]
    expected = f"mean is not all there: Orbax writes mean/{left} with arrays only, and none is there"
    assert errors == [expected] * (left is not None)


@pytest.mark.parametrize("step", ["run/300", "items/1", "nested/1"])
def test_what_processes_wrote_of_an_item_is_merged(made: Path, tmp_path: Path, step: str) -> None:
    """With and without a word on what the items are."""
    shutil.copytree(made / step, tmp_path / "1")
    manifests = sorted((tmp_path / "1").rglob("manifest.ocdbt"))
    manifest = next(path for path in manifests if not path.parent.name.startswith("ocdbt.process_"))
    drop(manifest.parent, *NAMING)
    place = manifest.parent.relative_to(tmp_path / "1").as_posix()
    assert any(f"{place} has ocdbt.process_*" in message for _, _, message in said(tmp_path / "1"))
    drop(tmp_path / "1", ABOUT)
    errors = [message for _, severity, message in said(tmp_path / "1") if severity == "error"]
    assert any(f"{place} has ocdbt.process_*" in message for message in errors)


def test_a_step_that_lost_what_says_its_items(made: Path, tmp_path: Path) -> None:
    """What Orbax writes since, or an older step, tells that it was there once."""
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    (run / "300" / ABOUT).rename(tmp_path / "about")
    ((code, severity, message),) = said(run)
    assert (code, severity) == ("CKP616", "warning") and "Orbax writes it wherever it writes array_metadatas" in message
    drop(run / "300/state", "array_metadatas")
    assert "is not there, and the older step 200 has it" in said(run)[0][2]
    (run / "300" / ABOUT).write_text("{}")
    assert "has no `item_handlers`, and the older step 200 has it" in said(run)[0][2]
    (run / "200" / ABOUT).write_text('{"commit_timestamp_nsecs": 1}')  # as Orbax did until 2024
    assert said(run) == []
    (run / "200" / ABOUT).write_text("{")
    assert said(run) == []
    shutil.copy(tmp_path / "about", run / "300" / ABOUT)
    assert said(run) == []


@pytest.mark.parametrize(
    ("leave", "folder", "severity"),
    [
        (lambda run: (run / "300/commit_success.txt").unlink(), "300", "error"),
        (lambda run: (run / "400").mkdir(), "400", "error"),
        (lambda run: shutil.copytree(run / "300", run / "400.orbax-checkpoint-tmp"), "400.orbax-checkpoint", "warning"),
        (lambda run: (run / "400.partial_save").mkdir(), "400.partial_save", "warning"),
    ],
)
def test_an_unfinished_step_that_orbax_takes_for_the_latest(
    made: Path, tmp_path: Path, leave: Change, folder: str, severity: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(made / "run", run)
    (run / "200/commit_success.txt").touch()
    (run / "300/commit_success.txt").touch()
    assert said(run) == []
    leave(run)
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(run)))
    assert (found.code, found.severity) == ("CKP601", severity) and folder in str(found.location)
    assert ("Orbax takes" in found.message) == (severity == "error")
    # Where the marker is what counts, Orbax looks for it.
    (tmp_path / "c.yaml").write_text(f"{HEAD}checkpoint: {{ commit: marker }}\n")
    checkpoint = read_checkpoint(run, commit="marker")
    (found,) = judge_checkpoint(CheckpointEvidence(checkpoint, load_contract(tmp_path / "c.yaml")))
    assert (found.code, found.severity) == ("CKP601", "warning")


@pytest.mark.parametrize(("layout", "expected"), [("zarr", []), ("ocdbt", ["state is stored as zarr, promised is"])])
def test_a_layout_is_promised_of_what_it_can_be_chosen_for(
    made: Path, tmp_path: Path, layout: str, expected: list[str]
) -> None:
    """Random keys and arrays by themselves are in the layout of their handler: both are in this step."""
    (tmp_path / "c.yaml").write_text(f"{HEAD}checkpoint: {{ layout: {layout} }}\n")
    checkpoint = read_checkpoint(made / "items")
    assert {item.layout for item in checkpoint.items} == {"zarr", "ocdbt", None}
    evidence = CheckpointEvidence(checkpoint, load_contract(tmp_path / "c.yaml"))
    found = [each.message for each in judge_checkpoint(evidence) if each.code == "CKP611"]
    assert len(found) == len(expected) and all(map(str.startswith, found, expected)), found


@pytest.mark.slow
def test_what_orbax_does_not_restore_is_found(tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    done = subprocess.run([sys.executable, str(CHILD), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "found.json").read_text())
    restored = {name: said(tmp_path / "kept" / name) == [] for name in found["restored"]}
    assert restored == found["restored"] and len(restored) > 60 and {*restored.values()} == {True, False}
    for name, number in found["taken"].items():
        run = tmp_path / "steps" / name
        errors = [message for _, severity, message in said(run) if severity == "error"]
        latest = read_checkpoint(run).latest
        assert latest is not None and bool(errors) == (latest.number != number), name
    assert found["untold"] == [True, True, False, True]
    assert said(tmp_path / "untold/whole") == []
    ((code, severity, _),) = said(tmp_path / "untold/lost")
    assert (code, severity) == ("CKP616", "warning")
