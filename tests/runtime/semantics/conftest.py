"""Probing steps of `cases/small_steps.py`: all that a test file asks for in one child process, in float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.semantics import SemanticsFacts

Asked = tuple[str, bool, str, dict[str, Any]]
"""A case, whether with its fault, the file of its arrays, further build arguments."""


@pytest.fixture(scope="session")
def probed() -> Callable[[Sequence[Asked]], list[SemanticsFacts]]:
    """What the probe finds of each."""
    return _probed


def _probed(asked: Sequence[Asked]) -> list[SemanticsFacts]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "children" / "probed.py"), json.dumps(asked)],
        env=environment | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [SemanticsFacts.model_validate(each) for each in json.loads(done.stdout.splitlines()[-1])]
