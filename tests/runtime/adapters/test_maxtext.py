"""The step that the adapter takes from MaxText, on simulated devices."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INSTALLED = importlib.util.find_spec("maxtext") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="MaxText is not installed: pip install 'jax-contract-lint[maxtext]'"),
]
CONFIGS = Path(__file__).resolve().parents[3] / "examples" / "maxtext" / "configs"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    child = Path(__file__).parent / "children" / "maxtext_steps.py"
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, str(child), str(CONFIGS)],
        capture_output=True,
        text=True,
        timeout=1200,
        env=environment,
        cwd=tmp_path_factory.mktemp("child"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_step_is_maxtexts_own_with_its_mesh_and_names(found: dict[str, Any]) -> None:
    assert found["whole"] == {
        "arguments": ["state", "data"],
        "donate": ["state"],
        "mesh": {"fsdp": 4, "tensor": 2},
        "axes": 12,
        "batch": [8, 256],
        "names": ["embed", "layers", "mlp"],
    }


def test_a_configuration_that_maxtext_brings_is_found_by_its_name(found: dict[str, Any]) -> None:
    assert found["shipped"]["mesh"] == {"fsdp": 8}


def test_example_values_are_texts_of_different_lengths(found: dict[str, Any]) -> None:
    assert 512 < found["text"] < 1024
    assert found["lengths"] == sorted(found["lengths"]) and len(set(found["lengths"])) == 8


def test_a_topology_without_slices_gives_its_negative_batch(found: dict[str, Any]) -> None:
    assert found["sliceless"] == [-8, 256]


def test_what_cannot_be_built_is_said_with_the_key_at_fault(found: dict[str, Any]) -> None:
    assert "no MaxText configuration `gone.yml`" in found["missing"]["message"]
    assert found["missing"]["key"] == ["args", "config"]
    assert "tiny.yml" in found["unknown"]["message"] and "no_such_key" in found["unknown"]["message"]
    assert found["unknown"]["key"] == ["args", "overrides"]
    assert "8 devices" in found["devices"]["message"] and "mesh has 4" in found["devices"]["message"]
    assert "no float64" in found["double"]["message"]
