"""Captures of small steps, made once for all tests of a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.manifest import Provenance, StepFacts
from contract_lint.runtime.launch import run_child
from contract_lint.runtime.request import ChildRequest, ChildResult, MeshRequest, StepRequest

HERE = Path(__file__).parent
SOURCE = (HERE / "small_steps.py").read_text().splitlines()


def line_at(mark: str) -> int:
    """The line of small_steps.py that carries a mark."""
    return next(number for number, line in enumerate(SOURCE, 1) if line.endswith(f"# at: {mark}"))


def child_request(out: Path, names: list[str], target: str = "cpu:8", **changes: Any) -> ChildRequest:
    """A request for steps of small_steps.py on a 2 x 4 mesh."""
    steps = [
        StepRequest(name=name, entry=f"small_steps:{name}", path=[str(HERE)], **changes.pop(name, {})) for name in names
    ]
    defaults: dict[str, Any] = {
        "mesh": MeshRequest(axes={"data": 2, "fsdp": 4}),
        "project_root": str(HERE),
        "provenance": Provenance(tool="0", python="3", contract_digest="0" * 64, target=target),
    }
    return ChildRequest(target=target, steps=steps, out=str(out), **(defaults | changes))


@dataclass
class Captured:
    """One capture folder with the facts of its steps."""

    folder: Path
    progress: list[str]

    def facts(self, step: str) -> StepFacts:
        return StepFacts.model_validate_json((self.folder / step / "facts.json").read_text())

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / "manifest.json").read_text())


GOOD = ["linear", "everything", "jitted", "module", "abstract_mesh", "own_mesh", "compiler_chooses", "signed"]
WARNED = ["rematerialized", "unusable_donation"]
REJECTED = {
    "indivisible": ("indivisible", "lower"),
    "unknown_axis": ("unknown-axis", "build"),
    "unknown_axis_in_step": ("unknown-axis", "trace"),
    "unknown_axis_of_psum": ("unknown-axis", "trace"),
    "ambiguous": ("ambiguous-sharding", "trace"),
    "mismatch": ("sharding-mismatch", "trace"),
    "incompatible_devices": ("sharding-mismatch", "lower"),
    "concretization": ("concretization", "trace"),
    "wrong_shapes": ("other-trace", "trace"),
    "wrong_in_build": ("other-trace", "build"),
}


@pytest.fixture(scope="session")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """All good, warned and rejected steps in one capture."""
    out = tmp_path_factory.mktemp("captured") / "capture"
    lines: list[str] = []
    signatures = {"tokens": [[8, 16], [16, 16], [8, 16], [7, 16]]}
    request = child_request(out, [*GOOD, *WARNED, *REJECTED], signed={"signatures": signatures})
    result = run_child(request, lines.append, timeout=240)
    assert result.error is None, result.error
    return Captured(out, lines)


@pytest.fixture
def failing(tmp_path: Path) -> Callable[..., ChildResult]:
    """Run one step that must end in a failure."""

    def run(name: str, timeout: float = 120, **changes: Any) -> ChildResult:
        result = run_child(child_request(tmp_path / "capture", [name], **changes), timeout=timeout)
        assert result.capture_dir is None
        assert result.failure is not None
        assert "Traceback" not in str(result.error)
        return result

    return run
