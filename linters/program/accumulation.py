"""Sums over devices that stand inside the loop over microbatches, and what keeps them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...contracts.manifest import Frame
from ...contracts.model import as_axes
from ...contracts.plan import without_allowed
from ...hlo_tools.collectives import Collective
from ...hlo_tools.frames import user_frame
from ...hlo_tools.instruction import Instruction
from ...hlo_tools.module import Computation, HloModule
from ...hlo_tools.trip_counts import trip_count
from ..evidence import StepEvidence

SUMS = ("all-reduce", "reduce-scatter")
METRIC = 8 * 128
"""Elements up to which a sum is one of metrics: between slices a scalar travels as a whole tile."""
_SAME_VALUE = frozenset(
    ("bitcast", "convert", "copy", "reshape", "transpose", "get-tuple-element", "opt-barrier", "tuple", "dynamic-slice")
)
_ADDS = frozenset(("add", "tuple", "dynamic-update-slice"))
_MAX_STEPS = 10_000


def sums_in_loop(evidence: StepEvidence) -> list[Collective]:
    """The sums over batch axes that the optimised program runs once for each microbatch; metrics are left out."""
    contract, module, ledger = evidence.contract, evidence.step.optimized, evidence.optimized
    section = contract.accumulation
    if section is None or section.microbatches < 2 or module is None or ledger is None:
        return []
    allow = contract.collectives.allow if contract.collectives is not None else []
    batch = set(as_axes(contract.batch.axes)) if contract.batch is not None else set()
    inside = {computation.name for computation in in_loops(module, section.microbatches)}
    return [
        row
        for row in without_allowed(ledger.rows, allow).kept
        if row.kind in SUMS
        and row.computation in inside
        and row.count
        and row.elements // row.count > METRIC
        and isinstance(row.axes, tuple)
        and (not batch or set(row.axes) <= batch)
    ]


def in_loops(module: HloModule, trips: int) -> Iterable[Computation]:
    """The computations below the outermost loops of `trips` rounds."""
    found: dict[str, Computation] = {}
    seen = {module.entry.name}
    pending = [module.entry]
    while pending:
        for call in _calls(pending.pop()):
            below = call.called
            if call.opcode == "while" and trip_count(call) == trips:
                _add_all(below, found)
                continue
            for computation in below:
                if computation.name not in seen:
                    seen.add(computation.name)
                    pending.append(computation)
    return found.values()


def _add_all(roots: Iterable[Computation], found: dict[str, Computation]) -> None:
    pending = list(roots)
    while pending:
        computation = pending.pop()
        if computation.name not in found:
            found[computation.name] = computation
            pending += [below for call in _calls(computation) for below in call.called]


def _calls(computation: Computation) -> Iterator[Instruction]:
    opcodes = computation.opcodes()
    for position, opcode in enumerate(opcodes):
        if opcode in ("while", "call", "conditional", "fusion", "async-start", "custom-call", "call-start"):
            yield computation.instruction_at(position)


def held_by(evidence: StepEvidence, row: Collective) -> Frame | None:
    """The line whose operation stands between a sum and the accumulator: no sum can move past what is not linear.

    Read from the partitioned program, where operations still stand apart.
    """
    explanation = evidence.explanation
    if explanation is None:
        return None
    for step in explanation.steps:
        if not any(_is_part(share.row, row) for share in step.after):
            continue
        for origin in (share.row for share in step.before):
            if origin.instruction is None or origin.elements // max(origin.count, 1) <= METRIC:
                continue
            frame = _first_reader(origin.instruction)
            if frame is not None:
                return frame
    return None


def _is_part(part: Collective, whole: Collective) -> bool:
    """Whether a row of the explanation is the other or one of the arrays combined in it."""
    return part is whole or (part.instruction is not None and part.instruction is whole.instruction)


def _first_reader(instruction: Instruction) -> Frame | None:
    """The user's line of the first operation that does more to a value than pass it on or add it up."""
    pending = list(instruction.users)
    seen: set[int] = set()
    while pending and len(seen) < _MAX_STEPS:
        user = pending.pop(0)
        if id(user) in seen:
            continue
        seen.add(id(user))
        if user.opcode in _SAME_VALUE:
            pending += user.users
        elif user.opcode not in _ADDS and (frame := user_frame(user.frames)) is not None:
            return frame
    return None
