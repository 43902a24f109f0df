"""Plans against TPU and CUDA programs, compiled here without a device: equal to the element.

For each target and plan: the planned collectives equal the canonical ledger of the partitioned program in kind, axes,
dtype, size, executions and elements; the length of every loop is known; and the collectives of the optimised program
follow from the partitioned ones by named rewrites without remainder.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.model import Contract
from contract_lint.contracts.plan import plan_collectives, without_allowed
from contract_lint.hlo_tools.canonical import canonical, explain
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.runtime.targets import target
from contract_lint.runtime.targets.readiness import readiness

MODELS: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 4, "d_model": 128, "heads": 4, "kv_heads": 4, "d_ff": 512, "vocab": 512, "sequence": 128},
    "proof-1b": {
        "layers": 4,
        "d_model": 4096,
        "heads": 32,
        "kv_heads": 8,
        "d_ff": 10880,
        "vocab": 32768,
        "sequence": 1024,
    },
}
BATCH = {"tiny": 64, "proof-1b": 512}
TP = {"heads": "tp", "mlp": "tp", "vocab": "tp"}


@dataclass(frozen=True)
class Plan:
    """Axes in mesh order; a size of 0 takes what is left of the devices."""

    axes: dict[str, int]
    slots: tuple[str, ...] = ()

    def logical(self) -> dict[str, Any]:
        return {"embed": "fsdp" if "fsdp" in self.axes else None} | (TP if "tp" in self.axes else {})

    def sizes(self, devices: int) -> dict[str, int]:
        known = 1
        for size in self.axes.values():
            known *= size or 1
        return {name: size or devices // known for name, size in self.axes.items()}


PLANS = {
    "dp": Plan({"data": 0}),
    "zero1": Plan({"data": 0}, slots=("data",)),
    "fsdp": Plan({"fsdp": 0}),
    "tp": Plan({"data": 0, "tp": 4}),
    "fsdp x tp": Plan({"fsdp": 0, "tp": 4}),
    "data x fsdp": Plan({"data": 2, "fsdp": 0}),
    "zero1 x tp": Plan({"data": 0, "tp": 2}, slots=("data",)),
}


def case(name: str, plan: str, preset: str = "tiny", effort: str = "fast", slow: bool = True) -> Any:
    marks = [pytest.mark.slow] if slow else []
    return pytest.param(name, plan, preset, effort, marks=marks, id=f"{name}-{plan}-{preset}-{effort}")


ONE_SLICE = ("dp", "zero1", "fsdp", "tp", "fsdp x tp")
CASES = [
    case("tpu:v5e:4x4", "fsdp x tp", slow=False),
    case("tpu:v5e:2x2:slices=2", "zero1 x tp"),
    case("cuda:h100:1x8", "fsdp"),
    *(case("tpu:v5e:4x4", plan) for plan in ("dp", "zero1", "fsdp", "tp")),
    *(case("tpu:v5e:4x4", plan, effort="full") for plan in ONE_SLICE),
    *(case("tpu:v5e:2x4:slices=2", plan) for plan in ("data x fsdp", "zero1", "fsdp")),
    *(case("cuda:h100:1x8", plan) for plan in ("dp", "zero1", "tp", "fsdp x tp")),
    *(case("tpu:v5e:16x16", plan, "proof-1b") for plan in ("zero1", "fsdp", "tp", "fsdp x tp")),
    *(case("tpu:v5e:16x16", plan, "proof-1b", "full") for plan in ("zero1", "fsdp", "tp", "fsdp x tp")),
    *(case("cuda:h100:32x8", plan, "proof-1b") for plan in ("zero1", "fsdp", "tp", "fsdp x tp")),
]


def compiled(name: str, plan: Plan, preset: str, effort: str, folder: Path) -> tuple[str, str, MeshFact]:
    """The partitioned and the optimised program, and the mesh they were made for."""
    found = readiness(name.partition(":")[0])
    if not found.ready:
        pytest.skip(f"{found.missing}; {found.help}")
    chosen = target(name)
    axes = plan.sizes(chosen.device_count)
    slices = int(name.rpartition("slices=")[2]) if "slices=" in name else 1
    request = {
        "target": name,
        "effort": effort,
        "axes": axes,
        "dcn": {next(iter(axes)): slices} if slices > 1 else {},
        "build": {
            "preset": preset,
            "batch": BATCH[preset],
            "kv_heads": MODELS[preset]["kv_heads"],
            "logical_axes": plan.logical(),
            "optimizer_axes": list(plan.slots),
        },
    }
    child = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("accelerator_child.py")), json.dumps(request), str(folder)],
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    texts = ((folder / f"{stage}.txt").read_text() for stage in ("partitioned", "optimized"))
    return *texts, MeshFact.model_validate_json((folder / "mesh.json").read_text())


METRIC = {"kind": "all-reduce", "elements_max": 1, "reason": "metrics"}


def promised(make_contract: Callable[..., Contract], mesh: MeshFact, plan: Plan, preset: str) -> Contract:
    return make_contract(
        mesh.axes,
        MODELS[preset],
        batch=BATCH[preset],
        batch_axes=[axis for axis in mesh.axes if axis != "tp"],
        logical=plan.logical(),
        placement=list(plan.slots) or "parameters",
        collectives={
            "allow": [{"kind": "all-reduce", "axes": list(mesh.axes), "elements_max": 1, "reason": "metrics"}]
        },
    )


def sums(rows: Any) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Executions and elements by kind, axes, dtype and size of one execution."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in rows:
        key = (row.kind, row.axes, row.dtype, row.elements // row.count)
        count, elements = found.get(key, (0, 0))
        found[key] = (count + row.count, elements + row.elements)
    return found


@pytest.mark.parametrize(("name", "plan", "preset", "effort"), CASES)
def test_plan_equals_program(
    name: str, plan: str, preset: str, effort: str, tmp_path: Path, make_contract: Callable[..., Contract]
) -> None:
    partitioned_text, optimized_text, mesh = compiled(name, PLANS[plan], preset, effort, tmp_path)
    contract = promised(make_contract, mesh, PLANS[plan], preset)
    assert contract.collectives is not None
    allow = contract.collectives.allow

    partitioned = canonical(parse_hlo(partitioned_text), mesh)
    planned = plan_collectives(contract, contract.targets[0], version("jax"))
    assert sums(without_allowed(partitioned.rows, allow).kept) == sums(without_allowed(planned.rows, allow).kept)

    program = parse_hlo(optimized_text)
    runs = collectives(program, mesh)
    assert runs.unknown_loops == []
    assert all(isinstance(row.axes, tuple) for row in runs.rows), "every group is a product of mesh axes"
    assert ("slices=" in name) == any(row.kind == "send-recv" and row.between_slices for row in runs.rows)
    explanation = explain(partitioned, canonical(program, mesh))
    assert explanation.complete, explanation.as_json()
    assert explanation.remainder_elements == 0
