"""Running a script of `children/` on 8 CPU devices in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def observe() -> Callable[..., Any]:
    """`observe(script, *arguments)`: what the script printed as its last line, read as JSON."""

    def run(script: str, *arguments: str, timeout: float = 500) -> Any:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
        environment |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
        done = subprocess.run(
            [sys.executable, str(HERE / "children" / script), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
