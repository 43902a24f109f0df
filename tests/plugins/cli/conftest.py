"""The command line as a user calls it, in a folder of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.plugins.cli import boundary
from contract_lint.plugins.cli.main import group

Run = Callable[..., "subprocess.CompletedProcess[str]"]

CONTRACT = """\
contract: 1
name: small
step:
  train:
    entry: my_pkg.train:build
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 4 } }
"""


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`cli("check", ".", env={...}, input="...")` in `tmp_path`: exit code, stdout and stderr of one command."""

    def run(*arguments: str, env: dict[str, str] | None = None, input: str = "") -> subprocess.CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            for name in ("COLUMNS", "CONTRACT_LINT_DEBUG", "NO_COLOR", "FORCE_COLOR"):
                patch.delenv(name, raising=False)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode())))
            capsys.readouterr()
            code = boundary.run(group, list(arguments))
            said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


@pytest.fixture
def contract_text() -> str:
    return CONTRACT


@pytest.fixture
def recorded(cli: Run, tmp_path: Path, contract_text: str) -> Path:
    """Three records of two contracts; the last concludes from nothing."""
    (tmp_path / "c.contract.yaml").write_text(contract_text)
    (tmp_path / "d.contract.yaml").write_text(contract_text.replace("name: small", "name: '<b>&'"))
    for loss, contract in ((2.0, "c"), (1.5, "c")):
        rows = [{"step": n, "loss": loss, "seconds": each} for n, each in enumerate([0.1 * n for n in range(1, 101)])]
        (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
        cli("record", "create", f"{contract}.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")
    cli("record", "create", "d.contract.yaml", "--conclusion", "<script>", "--fail-on", "never")
    return tmp_path


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"]


BRANCH = """\
import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    if jnp.sum(x) > 0:
        return x
    return -x
"""
CLEAN = BRANCH.replace("jnp.sum(x) > 0", "x.ndim > 0")


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """`put("pkg/a.py", "x = 1")` writes a file below `tmp_path`."""

    def write(name: str, text: str | bytes = BRANCH) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def found(done: Any) -> list[tuple[str, str, int | None]]:
    """Rule, path and line of the findings of `--format json`."""
    return [(f["name"], f["path"], f["line"]) for f in json.loads(done.stdout)["findings"]]


def notebook(*sources: str) -> str:
    """A notebook as Jupyter writes it, with these code cells."""
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.splitlines(True)}
        for text in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
