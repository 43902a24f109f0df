"""Steps are built and run in child processes: device count and x64 are settled before jax is imported there."""

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
def child() -> Callable[..., Any]:
    """Runs `children/<name>.py` with 8 CPU devices and returns the JSON it prints last."""

    def run(name: str, devices: int = 8, x64: bool = False, timeout: int = 300) -> Any:
        env = dict(os.environ, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES=str(devices), JAX_ENABLE_X64=str(int(x64)))
        # Compiling is most of the time here, and what is tested does not depend on how fast the result runs.
        env["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
        # XLA ends a program whose devices do not meet within 40 s, as on a machine that is busy with other work.
        env["XLA_FLAGS"] += f" --xla_cpu_collective_call_terminate_timeout_seconds={timeout}"
        done = subprocess.run(
            [sys.executable, str(HERE / "children" / f"{name}.py")],
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
