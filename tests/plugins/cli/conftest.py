"""The command line as a user runs it: a child process in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
def cli(tmp_path: Path) -> Run:
    """`cli("check", ".", env={...}, input=...)` in `tmp_path`, with stdout and stderr as text."""

    def run(*arguments: str, env: dict[str, str] | None = None, **options: object) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "CONTRACT_LINT_DEBUG", "PYTHONPATH")}
        return subprocess.run(
            [sys.executable, "-m", "contract_lint", *arguments],
            cwd=tmp_path,
            env=clean | (env or {}),
            capture_output=True,
            text=True,
            timeout=120,
            **options,  # type: ignore[call-overload]
        )

    return run


@pytest.fixture
def contract_text() -> str:
    return CONTRACT
