"""Two captures of the reference trainer that differ by one setting: it is named first, and placed in the code."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.diff import Diff
from contract_lint.plugins.pipeline.capture import capture
from contract_lint.plugins.pipeline.diff import diff_of

CONTRACT = Path(__file__).parents[3] / "examples" / "dense_fsdp" / "train.contract.yaml"
SETTINGS = {
    "base": "",
    "no_remat": ", remat: none",
    "wider_types": ", compute: float32",
}


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    text = CONTRACT.read_text()
    for name, setting in SETTINGS.items():
        changed = re.sub(r"(args: \{ preset: tiny)", rf"\g<1>{setting}", text, count=1)
        contract = folder / f"{name}.contract.yaml"
        contract.write_text(changed)
        capture(contract, targets=("cpu:8",), out=folder / name)
    return folder


def diff(captures: Path, a: str, b: str) -> Diff:
    return diff_of(str(captures / a), str(captures / b)).diff


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("no_remat", "remat", "nothing is recomputed"),
        ("wider_types", "dtype", "work in f32, not bf16"),
    ],
)
def test_the_setting_is_named_first(captures: Path, name: str, kind: str, said: str) -> None:
    found = diff(captures, "base", name)
    first = found.changes[0]
    assert first.kind == kind and said in first.what, first.what
    assert found.placement is not None and found.placement.where == "in your code"
    assert first.source_b is not None and first.source_b.startswith("runtime/trainer/")


def test_memory_is_that_of_the_buffer_assignment(captures: Path) -> None:
    found = diff(captures, "base", "no_remat")
    peak = found.metrics["peak"]
    assert peak.before is not None and peak.after is not None and peak.after > 2 * peak.before
    assert found.notes == []


def test_a_capture_is_itself(captures: Path) -> None:
    found = diff(captures, "base", "base")
    assert found.verdict == "same"
    assert found.placement is not None and found.placement.where == "nowhere"


def test_another_version_is_named(captures: Path, tmp_path: Path) -> None:
    """The same texts from another jax: what the program does otherwise came from the compiler."""
    other = tmp_path / "other"
    shutil.copytree(captures / "base", other)
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["provenance"]["jax"] = "99.0"
    (other / "manifest.json").write_text(json.dumps(manifest))
    found = diff_of(str(captures / "base"), str(other)).diff
    assert found.placement is not None
    assert any(said.startswith("jax ") and said.endswith("-> 99.0") for said in found.placement.made_by)


def test_a_capture_and_a_dump_can_be_compared(captures: Path) -> None:
    text = captures / "base" / "train" / "optimized.hlo.txt.gz"
    found = diff_of(str(captures / "base"), str(text))
    assert found.diff.placement is None and found.diff.same


@pytest.mark.parametrize("name", SETTINGS)
def test_text_and_protobuf_of_one_program_are_one(captures: Path, name: str) -> None:
    folder = captures / name / "train"
    found = diff_of(str(folder / "optimized.hlo.pb.gz"), str(folder / "optimized.hlo.txt.gz")).diff
    assert found.verdict == "same", [change.what for change in found.changes]


def test_captures_without_a_common_step(captures: Path) -> None:
    with pytest.raises(ContractLintError, match="no step"):
        diff_of(str(captures / "base"), str(captures / "no_remat"), step="eval")
