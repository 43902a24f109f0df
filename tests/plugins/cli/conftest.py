"""The command line as a user calls it, in a folder of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
            for name in ("COLUMNS", "CONTRACT_LINT_DEBUG"):
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
