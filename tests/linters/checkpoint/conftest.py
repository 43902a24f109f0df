"""Checkpoints that were not written by us, made once for all tests."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("orbax_child.py")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `orbax_child.py` filled; `tree.txt` has what TensorStore says of `tree`."""
    missing = [name for name in ("orbax.checkpoint", "optax", "flax", "tensorstore") if not _there(name)]
    if missing:
        pytest.skip(f"{missing[0]} is not installed: there is nothing to make checkpoints with")
    out = tmp_path_factory.mktemp("made")
    done = subprocess.run([sys.executable, str(CHILD), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (out / "tree.txt").write_text(done.stdout)
    return out


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
