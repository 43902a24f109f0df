"""From the evidence of one step to the tables of a report; the same promises and rows that the rules compared."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Any

from ...contracts.errors import ContractLintError
from ...hlo_tools.canonical import explain
from ...hlo_tools.collectives import CollectiveLedger
from ...linters.evidence import StepEvidence
from ...linters.program.match import Group, Promise, differences, is_allowed, promises, row_axes
from .tables import CollectiveRow, ComparisonRow, MemoryTable, RunTable, StepTables, TensorRow

STATE_CLASSES = ("parameter", "optimizer_slot")


def tabulate(evidence: StepEvidence) -> StepTables:
    """The tables of one step. A table whose evidence the capture does not hold is left out."""
    mesh = evidence.mesh
    manifest = evidence.capture.manifest
    return StepTables(
        target=evidence.target,
        step=evidence.name,
        devices=manifest.devices,
        device_kind=manifest.device_kind,
        mesh=tuple(mesh.axes.items()) if mesh is not None else None,
        collectives=_collectives(evidence),
        plan_note=_plan_note(evidence),
        rewrites=_rewrites(evidence),
        memory=_memory(evidence),
        tensors=_tensors(evidence),
        run=_run(evidence),
    )


def _collectives(evidence: StepEvidence) -> tuple[CollectiveRow, ...]:
    expected = promises(evidence)
    partitioned = _grouped(evidence.partitioned)
    optimized = _grouped(evidence.optimized)
    problems = {(d.kind, d.axes): d.problem for d in differences(evidence)}
    order = {"all-gather": 0, "reduce-scatter": 1, "all-reduce": 2}
    groups = dict.fromkeys([*(expected or {}), *partitioned, *optimized])
    rows = [
        _row(group, expected, partitioned.get(group, []), optimized.get(group, []), problems, evidence)
        for group in sorted(groups, key=lambda group: (order.get(group[0], 9), group))
    ]
    return tuple(rows)


def _grouped(ledger: CollectiveLedger | None) -> dict[Group, list[Any]]:
    grouped: dict[Group, list[Any]] = defaultdict(list)
    for row in ledger.rows if ledger is not None else ():
        grouped[row.kind, row_axes(row)].append(row)
    return grouped


def _row(
    group: Group,
    expected: dict[Group, Promise] | None,
    partitioned: list[Any],
    optimized: list[Any],
    problems: dict[Group, Any],
    evidence: StepEvidence,
) -> CollectiveRow:
    promise = (expected or {}).get(group)
    kind, axes = group
    has_partitioned = evidence.partitioned is not None
    has_optimized = evidence.optimized is not None
    return CollectiveRow(
        kind=kind,
        axes=None if axes == ("unknown",) else axes,
        plan_count=promise.count if promise else None,
        plan_elements=promise.elements if promise else None,
        partitioned_count=sum(row.count for row in partitioned) if has_partitioned else None,
        partitioned_elements=sum(row.elements for row in partitioned) if has_partitioned else None,
        partitioned_ring_bytes=sum(int(row.ring_bytes) for row in partitioned) if has_partitioned else None,
        optimized_count=sum(row.count for row in optimized) if has_optimized else None,
        optimized_elements=sum(row.elements for row in optimized) if has_optimized else None,
        optimized_ring_bytes=sum(int(row.ring_bytes) for row in optimized) if has_optimized else None,
        verdict=_verdict(group, promise, expected is not None, partitioned, problems, evidence),
        formula="; ".join(promise.explanation) or None if promise else None,
    )


def _verdict(
    group: Group,
    promise: Promise | None,
    promised: bool,
    partitioned: list[Any],
    problems: dict[Group, Any],
    evidence: StepEvidence,
) -> str:
    if group in problems:
        return {"missing": "missing", "unplanned": "unplanned"}.get(problems[group], "differs")
    if promise is not None:
        return "ok"
    if not promised:
        return "-"
    section = evidence.contract.collectives
    order = list(evidence.mesh.axes) if evidence.mesh is not None else []
    allowed = section is not None and partitioned and all(is_allowed(row, section, order) for row in partitioned)
    return "allowed" if allowed else "as run"


def _plan_note(evidence: StepEvidence) -> str | None:
    section = evidence.contract.collectives
    if section is None or section.expect != "closed_form":
        return None
    plan = evidence.collective_plan
    return f"no plan: {plan.message}" if isinstance(plan, ContractLintError) else None


def _rewrites(evidence: StepEvidence) -> tuple[str, ...]:
    if evidence.partitioned is None or evidence.optimized is None:
        return ()
    explanation = explain(evidence.partitioned, evidence.optimized)
    return tuple(str(rewrite) for rewrite in explanation.rewrites)


def _memory(evidence: StepEvidence) -> MemoryTable | None:
    ledger = evidence.memory
    if ledger is None:
        return None
    section = evidence.contract.memory
    limits = dict(section.classes) if section is not None else {}
    plan = evidence.tensor_plan
    return MemoryTable(
        need_bytes=ledger.need_bytes,
        peak_bytes=ledger.peak_bytes,
        argument_bytes=ledger.argument_bytes,
        output_bytes=ledger.output_bytes,
        alias_bytes=ledger.alias_bytes,
        temp_bytes=ledger.temp_bytes,
        code_bytes=ledger.code_bytes,
        state_bytes=ledger.state_bytes,
        state_plan_bytes=None if isinstance(plan, ContractLintError) else plan.state_bytes,
        hbm_bytes=section.hbm if section is not None else None,
        by_class=tuple(
            (name, ledger.by_class.get(name, 0), limits.get(name)) for name in sorted({*ledger.by_class, *limits})
        ),
    )


def _tensors(evidence: StepEvidence) -> tuple[TensorRow, ...]:
    plan = evidence.tensor_plan
    planned: dict[str, int] = defaultdict(int)
    if not isinstance(plan, ContractLintError):
        for row in plan.rows:
            planned[row.role] += row.bytes
    grouped: dict[str, list[Any]] = defaultdict(list)
    for tensor in evidence.tensors.rows:
        grouped[tensor.cls].append(tensor)
    return tuple(
        TensorRow(
            cls=cls,
            count=len(rows),
            bytes=sum(row.bytes or 0 for row in rows),
            replicated_bytes=sum(row.bytes or 0 for row in rows if _is_replicated(row)),
            plan_bytes=planned.get(cls),
        )
        for cls, rows in grouped.items()
    )


def _is_replicated(tensor: Any) -> bool:
    return tensor.local_shape is None or prod(tensor.local_shape) == prod(tensor.global_shape)


def _run(evidence: StepEvidence) -> RunTable | None:
    run = evidence.run
    if run is None:
        return None
    return RunTable(
        steps=run.steps,
        compiles=tuple(f"compile at step {event.index}: {event.reason}" for event in run.compiles),
        compiles_promised=evidence.section.compiles if evidence.section is not None else None,
        transfers=tuple(
            f"{event.kind} at step {event.index}"
            + (f", {event.frames[0].path}:{event.frames[0].line}" if event.frames else "")
            for event in run.transfers
        ),
        losses=tuple(run.losses),
        comparisons=tuple(
            ComparisonRow(
                role=row.role,
                path=row.path,
                ratio=row.ratio,
                error=row.error,
                bound=row.bound,
                floor=row.floor,
                method=row.method,
            )
            for row in run.comparisons
        ),
        not_compared=tuple((row.what, row.reason) for row in run.not_compared),
    )
