"""Arrays that are stored and not named: what the tree or an index has lost is a warning, what lies about is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint


def _found(path: Path) -> list[tuple[str, str]]:
    found = judge_checkpoint(CheckpointEvidence(read_checkpoint(path)))
    return [(each.severity, each.message) for each in found if each.code == "CKP604"]


@pytest.mark.parametrize("layout", ["ocdbt", "zarr", "zarr3", "ocdbt3"])
def test_a_slot_that_the_tree_lost(made: Path, tmp_path: Path, layout: str) -> None:
    assert _found(made / layout) == []
    shutil.copytree(made / layout, tmp_path / "step")
    metadata = json.loads((tmp_path / "step/_METADATA").read_text())
    tree = metadata["tree_metadata"]
    lost = [name for name, entry in tree.items() if "'mu'" in name and not entry["value_metadata"]["skip_deserialize"]]
    metadata["tree_metadata"] = {name: entry for name, entry in tree.items() if name not in lost}
    (tmp_path / "step/_METADATA").write_text(json.dumps(metadata))
    ((severity, message),) = _found(tmp_path / "step")
    assert severity == "warning" and message.startswith(f"{len(lost)} arrays of the step are stored, and its tree")


@pytest.mark.parametrize(
    ("name", "severity"),
    [("params.old", "warning"), ("mine.params.embed", "warning"), ("old", "info"), ("a.b", "info")],
)
def test_what_is_called_as_a_leaf_would_be(made: Path, tmp_path: Path, name: str, severity: str) -> None:
    shutil.copytree(made / "zarr", tmp_path / "step")
    shutil.copytree(made / "zarr/params.embed", tmp_path / "step" / name)
    assert [each for each, _ in _found(tmp_path / "step")] == [severity]


@pytest.mark.parametrize("named", [True, False])
def test_a_tensor_that_the_index_does_not_name(tmp_path: Path, named: bool) -> None:
    safetensors, numpy = pytest.importorskip("safetensors.numpy"), pytest.importorskip("numpy")
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    for number, name in enumerate(names):
        safetensors.save_file({f"w{number}": numpy.ones(2), f"v{number}": numpy.ones(2)}, tmp_path / name)
    safetensors.save_file({"other": numpy.ones(2)}, tmp_path / "adapter.safetensors")
    weights = {f"{letter}{number}": name for number, name in enumerate(names) for letter in "wv"}
    if not named:
        del weights["v1"]
    index = "model.safetensors.index.json"
    (tmp_path / index).write_text(json.dumps({"weight_map": weights}))
    said = f"1 array of the step is stored, and {index} does not name it (first: v1)"
    assert _found(tmp_path) == ([] if named else [("warning", said)])
