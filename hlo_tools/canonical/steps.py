"""The steps that one collective over several slices runs in, found from its transfer between slices.

What the transfer sends comes out of the step before, what it receives goes into the step after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..collectives import Collective
from ..instruction import Instruction
from ..slices import RENDEZVOUS, crosses_slices
from .origin import Place, origin
from .packed import sent
from .provenance import MOVES
from .rewrites.sum_spelling import SUMS

_MAX_STEPS = 64

Receivers = Mapping[tuple[str, str], Instruction]
"""Every `recv` beside a transfer between slices, by computation and meeting."""


def steps_around(row: Collective, rows: Mapping[Place, Collective], receivers: Receivers) -> list[Collective]:
    """The steps around a transfer between slices, in order; just the transfer where it stands alone.

    Nothing for a row that is no such transfer.
    """
    instruction = row.instruction
    if instruction is None or instruction.opcode != "send" or not crosses_slices(instruction):
        return []
    first = rows.get(origin(instruction.operands[0]).place) if row.kind in SUMS else None
    last = None
    if row.kind == "all-gather" or (row.kind == "all-reduce" and (first is None or first.elements != row.elements)):
        received = receivers.get((instruction.computation.name, instruction.frontend_attributes.get(RENDEZVOUS, "")))
        if received is not None:
            last = next((rows[place] for place in _read_by(received) if place in rows), None)
    steps = [step for step in (first, row, last) if step is not None]
    fits = _FITS.get(row.kind)
    together = fits is not None and len({step.count for step in steps}) == 1 and fits(steps)
    return steps if together else [row]


def _is_sum(steps: list[Collective]) -> bool:
    """Whether kinds and sizes are those of a sum in steps; the part of each device may be rounded up."""
    kinds = [step.kind for step in steps]
    each = [step.elements // step.count for step in steps]
    if kinds == ["all-reduce", "all-reduce"]:
        return each[0] == each[1]
    if kinds not in (["reduce-scatter", "all-reduce", "all-gather"], ["all-reduce", "all-reduce", "all-gather"]):
        return False
    return each[1] * steps[0].group_size == each[2] >= each[0]


def _is_scatter(steps: list[Collective]) -> bool:
    """Whether the second step scatters just the part that each device takes of the first."""
    first, second = steps[0], steps[-1]
    if len(steps) != 2 or first.kind not in SUMS or second.instruction is None:
        return False
    part = sum(array.elements for array in sent(second.instruction, second.elements // second.count))
    return part * first.group_size == first.elements // first.count


def _is_gather(steps: list[Collective]) -> bool:
    kinds = [step.kind for step in steps]
    return kinds == ["all-gather", "all-gather"] and (steps[0].elements * steps[1].group_size == steps[1].elements)


_FITS: Mapping[str, Callable[[list[Collective]], bool]] = {
    "all-reduce": _is_sum,
    "reduce-scatter": _is_scatter,
    "all-gather": _is_gather,
}


def receivers_of(rows: Iterable[Collective]) -> Receivers:
    """Every `recv` beside a transfer between slices, by computation and meeting."""
    sends = (row.instruction for row in rows if row.between_slices and row.instruction is not None)
    computations = {send.computation.name: send.computation for send in sends if send.opcode == "send"}
    return {
        (computation.name, recv.frontend_attributes.get(RENDEZVOUS, "")): recv
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
