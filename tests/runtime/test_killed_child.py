"""A child that is killed or hangs leaves a sentence, and never a folder that reads as a whole capture."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.runtime import launch
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.request import ChildRequest, MeshRequest, StepRequest

from .conftest import HERE, child_request

TARGET = "cpu:8"


def one_step(out: Path, name: str) -> ChildRequest:
    step = StepRequest(name="step", entry=f"accelerator_steps:{name}", path=[str(HERE)])
    mesh = MeshRequest(axes={"data": 8})
    return child_request(out, []).model_copy(update={"steps": [step], "mesh": mesh})


def test_a_hung_compiler_ends_at_the_time_limit_with_a_sentence(tmp_path: Path) -> None:
    result = run_child(one_step(tmp_path / "capture", "hangs"), timeout=20)
    assert result.capture_dir is None
    assert result.failure is not None and result.failure.help is not None
    assert result.failure.message == ("the child process for cpu:8 was stopped after 20 s, during `step: compile`")
    assert "--timeout" in result.failure.help
    with pytest.raises(ContractLintError, match="half a capture"):
        read_capture(tmp_path / "capture")


@pytest.mark.parametrize("phase", ["import", "trace", "compile", "writing"])
def test_killed_at_any_moment(tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kill comes with the progress line, so a little into the phase it announces.

    On a busy machine it may come much later; the child waits for it before the act that makes a capture whole.
    """
    children: list[int] = []

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **keywords: Any) -> None:
            super().__init__(*args, **keywords)
            children.append(self.pid)

    monkeypatch.setattr(launch.subprocess, "Popen", Watched)

    def kill(line: str) -> None:
        if line.endswith(phase):
            os.kill(children[0], signal.SIGKILL)

    result = run_child(one_step(tmp_path / "capture", "never_done"), kill, timeout=120)
    assert result.capture_dir is None and result.failure is not None
    assert "was killed by SIGKILL before it could report" in result.failure.message
    with pytest.raises(ContractLintError):
        read_capture(tmp_path / "capture")


def test_a_compiler_that_fails_by_itself_is_nobodys_fault(tmp_path: Path) -> None:
    result = run_child(one_step(tmp_path / "capture", "breaks"), timeout=120)
    assert result.failure is not None and result.failure.help is not None
    assert result.failure.message.startswith("the compiler for cpu:8 failed by itself with jax ")
    assert "RET_CHECK failure" in result.failure.message
    assert "pair of versions is not supported" in result.failure.help
    assert result.failure.path is None and not result.failure.key
