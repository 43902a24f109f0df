"""A collective over several slices, run in steps: inside the slices, between them, inside again.

    all-reduce over (outer, inner)  =  reduce-scatter over inner, all-reduce over outer, all-gather over inner
                                    or, where it is small, all-reduce over inner, all-reduce over outer
    all-gather over (outer, inner)  =  all-gather over outer, all-gather over inner

Each step is found from the transfer between slices: what it sends comes out of the first, what it receives goes into
the last. The steps become one row over both groups of axes, of the elements of the whole array. Several arrays may be
packed into one buffer for it: then there is a row for each, and the rounding of the buffer is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..collectives import Collective, CollectiveLedger
from ..instruction import Instruction
from ..mesh_axes import axes_of
from ..replica_groups import united
from ..slices import crosses_slices
from ..transfers import Part
from .combined import part_number, parts_of
from .origin import Place, origin, place_of
from .packed import Array, packed
from .provenance import MOVES
from .rewrites.hierarchical import JOINT

_MAX_STEPS = 64
_RENDEZVOUS = "_xla_host_transfer_rendezvous"


def in_one_step(ledger: CollectiveLedger) -> CollectiveLedger:
    """The ledger with the steps of every collective over several slices as one row, in the place of the first."""
    if not any(row.between_slices for row in ledger.rows):
        return ledger
    rows = {place_of(row): row for row in ledger.rows if row.instruction is not None}
    receivers = _receivers(ledger.rows)
    whole: dict[int, list[Collective]] = {}
    gone: set[int] = set()
    for row in ledger.rows:
        steps = _steps(row, rows, receivers)
        if len(steps) < 2 or any(id(step) in gone for step in steps):
            continue
        gone.update(id(step) for step in steps)
        whole[id(steps[0])] = list(_joined(steps, row, ledger))
    return replace(
        ledger,
        rows=[new for row in ledger.rows for new in whole.get(id(row), () if id(row) in gone else (row,))],
    )


def _steps(
    row: Collective, rows: dict[Place, Collective], receivers: dict[tuple[str, str], Instruction]
) -> list[Collective]:
    """The steps around a transfer between slices, in order; just the transfer where it stands alone."""
    instruction = row.instruction
    if instruction is None or instruction.opcode != "send" or not crosses_slices(instruction):
        return []
    first = last = None
    if row.kind == "all-reduce":
        first = rows.get(origin(instruction.operands[0]).place)
    received = receivers.get((instruction.computation.name, instruction.frontend_attributes.get(_RENDEZVOUS, "")))
    if received is not None and (first is None or first.elements != row.elements):
        last = next((rows[place] for place in _read_by(received) if place in rows), None)
    steps = [step for step in (first, row, last) if step is not None]
    fits = _is_sum(steps) if row.kind == "all-reduce" else row.kind == "all-gather" and _is_gather(steps)
    return steps if fits and len({step.count for step in steps}) == 1 else [row]


def _is_sum(steps: list[Collective]) -> bool:
    """Whether kinds and sizes are those of a sum in steps; the part of each device may be rounded up."""
    kinds = [step.kind for step in steps]
    each = [step.elements // step.count for step in steps]
    if kinds == ["all-reduce", "all-reduce"]:
        return each[0] == each[1]
    if kinds not in (["reduce-scatter", "all-reduce", "all-gather"], ["all-reduce", "all-reduce", "all-gather"]):
        return False
    return each[1] * steps[0].group_size == each[2] >= each[0]


def _is_gather(steps: list[Collective]) -> bool:
    kinds = [step.kind for step in steps]
    return kinds == ["all-gather", "all-gather"] and (steps[0].elements * steps[1].group_size == steps[1].elements)


def _joined(steps: list[Collective], between: Collective, ledger: CollectiveLedger) -> Iterator[Collective]:
    """One row over the axes of all steps, or one for each array that was packed."""
    first = steps[0]
    whole = first if between.kind == "all-reduce" else steps[-1]
    groups = united(group for step in steps for group in step.groups)
    size = max(len(group) for group in groups)
    each = whole.elements // whole.count
    arrays: tuple[Array, ...] = ()
    if between.kind == "all-reduce" and whole.instruction is not None:
        number = part_number(whole) or 0
        assert between.instruction is not None
        fusions = origin(between.instruction.operands[0]).fusions
        arrays = packed(whole.instruction.operands[number], fusions, each, first.group_size)
    width = whole.operand_bytes // whole.count // (each // (whole.group_size if whole.kind == "all-gather" else 1))
    shards = size if between.kind == "all-gather" else 1
    parts = [
        Part(n, whole.dtype, n * width // shards, n * width) for n in [array.elements for array in arrays] or [each]
    ]
    row = replace(
        whole,
        name=JOINT.join(step.name for step in steps),
        kind=between.kind,
        axes=axes_of(groups, ledger.mesh) if ledger.mesh is not None else None,
        groups=groups,
        group_size=size,
        between_slices=True,
        own_groups=(),
        parts=tuple(parts),
    )
    if len(parts) > 1:
        for array, part in zip(arrays, parts_of(row), strict=True):
            yield replace(part, packed=(array.value, array.fusions))
        return
    (part,) = parts
    yield replace(
        row,
        elements=part.elements * row.count,
        operand_bytes=part.operand_bytes * row.count,
        result_bytes=part.result_bytes * row.count,
    )


def _receivers(rows: Iterable[Collective]) -> dict[tuple[str, str], Instruction]:
    """Every `recv` beside a transfer between slices, by computation and meeting."""
    sends = (row.instruction for row in rows if row.between_slices and row.instruction is not None)
    computations = {send.computation.name: send.computation for send in sends if send.opcode == "send"}
    return {
        (computation.name, recv.frontend_attributes.get(_RENDEZVOUS, "")): recv
        for computation in computations.values()
        for position, opcode in enumerate(computation.opcodes())
        if opcode == "recv" and (recv := computation.instruction_at(position))
    }


def _read_by(value: Instruction) -> Iterator[Place]:
    """The collectives that read a received value, through moves."""
    pending, seen = [value], {id(value)}
    while pending and len(seen) < _MAX_STEPS:
        value = pending.pop()
        for user in value.users:
            if user.opcode == "all-gather":
                yield user.computation.name, user.name, user.operands.index(value)
            elif (user.opcode in MOVES or user.opcode in ("recv-done", "get-tuple-element")) and id(user) not in seen:
                seen.add(id(user))
                pending.append(user)
