"""`train`: the reference trainer learns, in a child process."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.pipeline.train import train

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build", args: { layers: 1, d_model: 32, d_ff: 64, heads: 2 } } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
"""


@pytest.mark.slow
def test_loss_falls(tmp_path: Path) -> None:
    path = tmp_path / "c.contract.yaml"
    path.write_text(CONTRACT)
    *rows, last = list(train(path, steps=8))
    assert [row["step"] for row in rows] == list(range(1, 9))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert last["entropy"] < rows[-1]["loss"] and last["excess"] > 0
    assert len(last["program"]) == 64


def test_options_that_are_left_out_are_told_and_a_python_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.contract.yaml"
    path.write_text(CONTRACT)
    monkeypatch.setenv("XLA_FLAGS", "--xla_x=1")
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    said: list[str] = []
    with pytest.raises(ContractLintError, match=r"cannot start .*/nowhere: No such file"):
        list(train(path, steps=1, python=str(tmp_path / "nowhere"), say=said.append))
    (line,) = said
    assert line.startswith("XLA_FLAGS is set here and left out") and "compiler_options" not in line


@pytest.mark.slow
def test_settings_that_do_not_fit_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "c.contract.yaml"
    path.write_text(CONTRACT.replace("heads: 2", "heads: 3"))
    with pytest.raises(ContractLintError, match="heads"):
        list(train(path, steps=1))
