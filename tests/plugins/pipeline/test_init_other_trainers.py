"""`init` on trainers that know nothing of contract-lint: what it writes passes `verify`, executed too, unchanged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contract_lint", *arguments], cwd=folder, capture_output=True, text=True, timeout=900
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "mesh", "donated", "schedule"),
    [
        ("linen_trainstate", "data=8", ["state"], True),
        ("equinox_optax", "data=2,fsdp=4", ["model", "opt_state"], False),
    ],
)
def test_the_first_contract_passes_unchanged(
    tmp_path: Path, example: str, mesh: str, donated: list[str], schedule: bool
) -> None:
    shutil.copy(EXAMPLES / example / "train.py", tmp_path)
    done = cli(tmp_path, "init", "train:build", "--target", "cpu:8", "--mesh", mesh)
    assert done.returncode == 0, done.stderr
    loaded = load_contract(tmp_path / "train.contract.yaml", tmp_path)
    assert loaded.findings == [] and loaded.contract is not None
    contract = loaded.contract
    assert contract.step["train"].donate == donated
    assert contract.optimizer is not None and contract.optimizer.schedule is schedule
    assert contract.model is not None and contract.collectives is not None and contract.deviations == []
    written = (tmp_path / "train.contract.yaml").read_bytes()
    for extra in ([], ["--run"]):
        verified = cli(tmp_path, "verify", "train.contract.yaml", *extra)
        assert verified.returncode == 0, verified.stdout + verified.stderr
    assert (tmp_path / "train.contract.yaml").read_bytes() == written
