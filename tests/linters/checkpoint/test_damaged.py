"""A database whose index cannot be decoded is a finding; what can be told of the step still is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.plugins.pipeline.checkpoint import check_checkpoint, digests_of
from contract_lint.plugins.pipeline.checkpoint_diff import checkpoint_diff
from contract_lint.plugins.pipeline.convert.convert import convert


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "run", tmp_path / "run")
    return tmp_path / "run"


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def index_of(step: Path) -> Path:
    """The file that holds the root of the index: the smallest but for the manifest."""
    return min((step / "state/d").iterdir(), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b"\x0c\xdb\x3a\x2a" + b"\xff" * 200])
def test_a_manifest_that_is_none(run: Path, damage: bytes) -> None:
    (run / "300/state/manifest.ocdbt").write_bytes(damage)
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(run)))
    assert found.code == "CKP609" and "the manifest of its index cannot be decoded" in found.message
    assert found.help == "restore another step (200), or bring the file back"


@pytest.mark.parametrize("name", ["manifest.ocdbt", "d"])
def test_one_byte_of_an_index(run: Path, name: str) -> None:
    step = run / "300"
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(run))) == []
    digests = run.parent / "300.json"
    digests.write_text(digests_of(str(run), None, None).as_text())
    file = index_of(step) if name == "d" else step / "state" / name
    flip(file, file.stat().st_size // 2)
    inside = file.relative_to(step).as_posix()
    report = check_checkpoint(str(run), digests=str(digests))
    assert [(each.code, inside in str(each.location)) for each in report.findings] == [
        ("CKP609", True),
        ("CKP613", True),
    ]
    # Names and what else the step has are still told, and each leaf is one that is not stored.
    checkpoint = read_checkpoint(run)
    assert {item.name for item in checkpoint.items} == {"data", "state"}
    assert {leaf.shape for leaf in checkpoint.arrays.values()} == {None}
    assert digests_of(str(run), None, None).root != digests_of(str(run), 200, None).root
    for other in (lambda: checkpoint_diff(str(run), str(run / "200")), lambda: convert(str(run), str(run / "out"))):
        with pytest.raises(ContractLintError, match="index cannot be decoded"):
            other()
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(run, step=200))) == []


def test_damaged_metadata_names_the_other_steps(run: Path) -> None:
    """Of JSON that is none nothing can be told: that is no finding, but an error with its place."""
    (run / "300/state/_METADATA").write_text("{")
    with pytest.raises(ContractLintError, match="_METADATA:1:2: is no JSON") as error:
        read_checkpoint(run)
    assert error.value.help is not None and error.value.help.endswith("; other committed steps: 200")
    with pytest.raises(ContractLintError) as error:
        read_checkpoint(run / "300")
    assert error.value.help is not None and "other committed" not in error.value.help
    assert len(digests_of(str(run), None, None).files) > 1
