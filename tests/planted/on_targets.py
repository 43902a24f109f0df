"""Plants a fault on a target that is compiled for: the contract fitted to the target, its promises from the clean twin.

A partitioner for another platform may ask for other collectives, so a contract that lists them gets the list of the
clean twin on the same target, as `init` would write it; a closed form stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from contract_lint.contracts.finding import Finding
from contract_lint.contracts.key import parse_key
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.plan import without_allowed
from contract_lint.hlo_tools.canonical import canonical
from contract_lint.hlo_tools.capture import Capture
from contract_lint.plugins.pipeline.capture import capture_targets
from contract_lint.plugins.pipeline.verify import verify
from contract_lint.runtime.targets import Effort
from existence import DCN, TARGETS, TIMES
from harness import Fault, project
from ruamel.yaml import YAML

LISTED = ("plain_flax", "shard_map_dp")
"""Examples whose contract lists the collectives of a CPU."""


@cache
def clean(folder: Path, example: str, place: str, effort: Effort | None = None) -> tuple[Path, Capture]:
    """The contract of the clean twin on one place, with its promises, and its capture; made once."""
    contract = project(folder / f"{example}-{place}-{effort}", example, "small")
    change(contract, lambda data: _fit(data, example, place))
    (capture,) = capture_targets(load_contract(contract), effort=effort)
    if example in LISTED:
        change(contract, lambda data: _promise(data, capture, contract))
    return contract, capture


def planted(folder: Path, twin: Path, fault: Fault, place: str) -> Path:
    """The contract of a copy with the fault: what its clean twin promises, and what the fault changes in it."""
    contract = project(folder, fault.example, "small", fault.edits)
    promised = YAML().load(twin.read_text())

    def fit(data: Any) -> None:
        _fit(data, fault.example, place)
        for name in ("collectives", "deviations"):
            if name in promised:
                data[name] = promised[name]
        for key, value in fault.contract:
            _set(data, key, value)

    change(contract, fit)
    return contract


def judged(contract: Path, effort: Effort | None = None) -> list[Finding]:
    """The new root findings of `verify`."""
    report = verify(contract, effort=effort)
    return [finding for finding in report.findings if finding.is_root and finding.status == "new"]


def change(contract: Path, how: Callable[[Any], None]) -> None:
    """A contract, written back with one change."""
    yaml = YAML()
    data = yaml.load(contract.read_text())
    how(data)
    with contract.open("w") as file:
        yaml.dump(data, file)


def _fit(data: Any, example: str, place: str) -> None:
    data["targets"] = [TARGETS[place]]
    if place in TIMES:
        data["mesh"]["axes"]["data"] *= TIMES[place]
        _grow_batch(data, TIMES[place])
    if place in DCN:
        data["mesh"]["dcn"] = dict(DCN[place])
    if example in LISTED or example == "dense_fsdp":
        # A compiler's code and padding take more than the CPU's program of so small a step.
        data["memory"]["hbm"] = "256MiB"
    if place in ("cuda", "hosts") and example == "offload":
        # Memory kinds of arguments are dropped there; activations are moved.
        data["step"]["train"]["args"]["slots"] = "device"
        data["memory"]["offload"] = ["activations"]
    if place in ("cuda", "hosts") and example == "remat":
        _grow_batch(data, 4)


def _grow_batch(data: Any, times: int) -> None:
    """A batch of that many times the rows, in the contract, the build arguments and the signatures."""
    step = data["step"]["train"]
    step["args"]["batch"] = data["batch"]["size"] = times * data["batch"]["size"]
    for shapes in step.get("signatures", {}).values():
        for shape in shapes:
            shape[0] *= times


def _promise(data: Any, capture: Capture, contract: Path) -> None:
    """The collectives of the clean twin, what crosses the network, and what its partitioner is known to ask twice."""
    loaded = load_contract(contract)
    assert loaded.contract is not None and loaded.contract.collectives is not None
    step = capture.steps["train"]
    assert step.partitioned is not None
    ledger = canonical(step.partitioned, step.mesh)
    kept = without_allowed(ledger.rows, loaded.contract.collectives.allow).kept
    data["collectives"]["expect"] = [
        {"kind": row.kind, "axes": list(row.axes or ()), "count": row.count, "elements": row.elements}
        for row in replace(ledger, rows=kept).totals()
    ]
    if "dcn" in data["mesh"]:
        # One gradient in float32, reduced between two parts: each device sends a quarter of it at most once.
        data["collectives"]["dcn_max"] = "256KiB"
    if capture.manifest.provenance.target.startswith("tpu:") and contract.parent.name == "plain_flax":
        data["deviations"] = [
            {"rule": "SHD208", "reason": "the head is gathered in forward and backward; the compiler merges both"}
        ]


def _set(data: Any, key: str, value: Any) -> None:
    *parents, last = parse_key(key)
    for part in parents:
        data = data[part]
    data[last] = value
