"""From the evidence of one step to the tables of a report; the same promises and rows that the rules compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import prod
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.plan import without_allowed
from ...hlo_tools.canonical.rewrites.narrowed import NARROWED
from ...hlo_tools.collectives import Collective, CollectiveLedger, Total
from ...hlo_tools.tensors import STATE_CLASSES as KEPT
from ...linters.applicable import unjudged
from ...linters.evidence import StepEvidence
from ...linters.program.limits import is_estimate, refused
from ...linters.program.match import Group, Promise, agrees, promises, row_axes
from ...linters.program.stored import stored_state
from .forecast import forecast
from .meaning import meaning
from .tables import CollectiveRow, CollectiveVerdict, ComparisonRow, MemoryTable, RunTable, StepTables, TensorRow

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
        not_judged=_not_judged(evidence),
        memory=_memory(evidence),
        tensors=_tensors(evidence),
        forecast=forecast(evidence),
        run=_run(evidence),
        meaning=meaning(evidence),
    )


def _collectives(evidence: StepEvidence) -> tuple[CollectiveRow, ...]:
    expected = promises(evidence)
    sums = [_totals(evidence.partitioned), _totals(evidence.optimized)]
    order = {"all-gather": 0, "reduce-scatter": 1, "all-reduce": 2}
    groups: set[Group] = {*(expected or {}), *(sums[0] or {}), *(sums[1] or {})}
    return tuple(
        _row(group, (expected or {}).get(group), sums, _verdict(group, expected, evidence))
        for group in sorted(groups, key=lambda group: (order.get(group[0], 9), group))
    )


def _totals(ledger: CollectiveLedger | None) -> dict[Group, Total] | None:
    return None if ledger is None else {(total.kind, row_axes(total)): total for total in ledger.totals()}


def _row(
    group: Group, promise: Promise | None, sums: list[dict[Group, Total] | None], verdict: CollectiveVerdict
) -> CollectiveRow:
    kind, axes = group
    nothing = Total(kind, axes)
    partitioned, optimized = (None if found is None else found.get(group, nothing) for found in sums)
    return CollectiveRow(
        kind=kind,
        axes=None if axes == ("unknown",) else axes,
        plan_count=promise.count if promise else None,
        plan_elements=promise.elements if promise else None,
        partitioned_count=partitioned.count if partitioned else None,
        partitioned_elements=partitioned.elements if partitioned else None,
        partitioned_ring_bytes=partitioned.ring_bytes if partitioned else None,
        optimized_count=optimized.count if optimized else None,
        optimized_elements=optimized.elements if optimized else None,
        optimized_ring_bytes=optimized.ring_bytes if optimized else None,
        verdict=verdict,
        formula="; ".join(promise.explanation) or None if promise else None,
    )


def _verdict(group: Group, expected: dict[Group, Promise] | None, evidence: StepEvidence) -> CollectiveVerdict:
    """By the numbers of the row alone: which finding they belong to is the findings' to say."""
    if expected is None or evidence.partitioned is None:
        return "-"
    rows = [row for row in evidence.partitioned.rows if (row.kind, row_axes(row)) == group]
    section = evidence.contract.collectives
    kept = without_allowed(rows, section.allow).kept if section is not None else rows
    if group in expected:
        if agrees(expected[group], kept):
            return "ok"
        return "differs" if rows else "missing"
    if kept:
        return "unplanned"
    return "allowed" if rows else "rewritten"


def _plan_note(evidence: StepEvidence) -> str | None:
    """What to know beside the collectives: why there is no plan, and which of their numbers are only a lower bound."""
    notes: list[str] = []
    section = evidence.contract.collectives
    if section is not None and section.expect == "closed_form":
        plan = evidence.collective_plan
        notes += [f"no plan: {plan.message}"] if isinstance(plan, ContractLintError) else []
    ledger = evidence.partitioned
    if loops := unknown_loops(ledger.rows if ledger is not None else ()):
        notes.append(f"collectives in a loop of unknown length are counted for one round: {', '.join(loops[:5])}")
    return "; ".join(notes) or None


def unknown_loops(rows: Iterable[Collective]) -> list[str]:
    """The loops around these collectives whose length the program does not tell."""
    return sorted({loop for row in rows for loop in row.unknown_loops})


def _not_judged(evidence: StepEvidence) -> str | None:
    """`not judged: batch, model, parameters; the compiler refused the program for its size`."""
    keys, error = unjudged(evidence), evidence.facts.error
    if error is None or not keys:
        return None
    ended = "the compiler refused the program for its size" if refused(evidence) else f"the step does not {error.phase}"
    return f"not judged: {', '.join(keys)}; {ended}"


def _rewrites(evidence: StepEvidence) -> tuple[str, ...]:
    """`collectives as run: combined (36 executions), hoisted (2 executions); remainder 0 elements`."""
    explanation = evidence.explanation
    if explanation is None or not (explanation.steps or explanation.remainder_elements):
        return ()
    used = []
    for name, count in explanation.used().items():
        # Half the bytes of what was asked for: say in which type they travel.
        dtypes = f", in {' and '.join(explanation.dtypes(name))}" if name == NARROWED.name else ""
        used.append(f"{name} ({count:,} execution{'s' * (count != 1)}{dtypes})")
    said = ", ".join(used) or "as partitioned"
    return (f"as run: {said}; remainder {explanation.remainder_elements:,} elements",)


def _memory(evidence: StepEvidence) -> MemoryTable | None:
    ledger = evidence.memory
    if ledger is None:
        return None
    section, compiled = evidence.contract.memory, evidence.facts.error is None
    # What was never compiled has no state on a device, and its peak is that of a program nobody will run.
    limits = dict(section.classes) if section is not None and compiled else {}
    live = ledger.by_class
    # Sums alone tell no class from another: a limit beside 0 bytes would look kept.
    classes = dict.fromkeys([*live, *limits]) if ledger.method != "compiled-stats" else ()
    return MemoryTable(
        need_bytes=ledger.need_bytes,
        peak_bytes=ledger.peak_bytes,
        argument_bytes=ledger.argument_bytes,
        output_bytes=ledger.output_bytes,
        alias_bytes=ledger.alias_bytes,
        temp_bytes=ledger.temp_bytes,
        code_bytes=ledger.code_bytes,
        state_bytes=ledger.state_bytes if compiled else None,
        state_plan_bytes=_state_plan(evidence) if compiled else None,
        state_stored_bytes=None if (stored := stored_state(evidence)) is None else stored.tiled,
        hbm_bytes=section.hbm if section is not None else None,
        by_class=tuple((name, live.get(name, 0), limits.get(name)) for name in classes),
        standing="refused" if refused(evidence) else "estimate" if is_estimate(evidence) else "run",
    )


def _state_plan(evidence: StepEvidence) -> int | None:
    """Parameters and slots as planned, the rest of the state as found: a contract promises no counters and no keys."""
    planned = _planned(evidence)
    if planned is None:
        return None
    found = sum(row.bytes or 0 for row in evidence.tensors.of(*KEPT) if row.class_ not in STATE_CLASSES)
    return found + sum(planned[role] for role in STATE_CLASSES)


def _planned(evidence: StepEvidence) -> dict[str, int] | None:
    """Bytes per device by role."""
    plan = evidence.tensor_plan
    if isinstance(plan, ContractLintError):
        return None
    planned: dict[str, int] = defaultdict(int)
    for row in plan.rows:
        planned[row.role] += row.bytes
    return planned


def _tensors(evidence: StepEvidence) -> tuple[TensorRow, ...]:
    if evidence.facts.error is not None:
        return ()  # a step that was never compiled has no arrays on a device
    planned = _planned(evidence) or {}
    grouped: dict[str, list[Any]] = defaultdict(list)
    for tensor in evidence.tensors.rows:
        grouped[tensor.class_].append(tensor)
    return tuple(
        TensorRow(
            cls=cls,
            count=len(rows),
            bytes=sum(row.bytes or 0 for row in rows),
            replicated_bytes=sum(row.bytes or 0 for row in rows if _is_replicated(row)),
            plan_bytes=None if cls in KEPT and cls not in STATE_CLASSES else planned.get(cls),
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
        not_compared=tuple((row.what, row.sentence) for row in run.not_compared),
    )
