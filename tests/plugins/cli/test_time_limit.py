"""Every verb that starts user code has a time limit: the one given, else the one that its help names."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.plugins.pipeline.init import look
from contract_lint.runtime import contract
from contract_lint.runtime.launch import DEFAULT_TIMEOUT
from contract_lint.runtime.request import ChildFailure, ChildRequest, ChildResult

Run = Callable[..., "subprocess.CompletedProcess[str]"]
VERBS = {
    "verify": ("c.contract.yaml",),
    "capture": ("c.contract.yaml", "-o", "capture"),
    "init": ("my_pkg.train:build", "--target", "cpu:8"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("given", "limit"), [((), DEFAULT_TIMEOUT), (("--timeout", "7"), 7.0)])
def test_the_child_gets_it(
    verb: str, given: tuple[str, ...], limit: float, cli: Run, tmp_path: Path, contract_text: str, monkeypatch: Any
) -> None:
    limits: list[float] = []

    def run_child(_: ChildRequest, say: Any, timeout: float, python: str | None = None) -> ChildResult:
        limits.append(timeout)
        return ChildResult(None, ChildFailure(message="stopped"))

    for module in (contract, look):
        monkeypatch.setattr(module, "run_child", run_child)
    (tmp_path / "c.contract.yaml").write_text(contract_text)
    done = cli(verb, *VERBS[verb], *given)
    assert (done.returncode, limits) == (2, [limit]), done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_names_it(verb: str, cli: Run) -> None:
    words = " ".join(cli(verb, "--help").stdout.split())
    assert f"Longest time one target may take. [default: {DEFAULT_TIMEOUT:g}]" in words
