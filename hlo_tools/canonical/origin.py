"""The collective that a value comes out of, past what moves, pads, aligns or slices it, in and out of fusions."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..collectives import Collective
from ..instruction import Instruction
from .combined import part_number
from .packed import is_filled_up
from .provenance import MOVES

_MAX_STEPS = 64

Place = tuple[str, str, int]
"""Computation, instruction and array of a combined one."""
NOWHERE: Place = ("", "", 0)


@dataclass(slots=True)
class Origin:
    """Where a value comes from: a collective, and the fusions around it, innermost last."""

    place: Place = NOWHERE
    fusions: list[Instruction] = field(default_factory=list)


def place_of(row: Collective) -> Place:
    """Where a row that knows its instruction stands."""
    assert row.instruction is not None
    return row.computation, row.instruction.name, part_number(row) or 0


def origin(value: Instruction) -> Origin:
    """The collective whose result, moved, padded, aligned or sliced, is this value; `NOWHERE` where it is none."""
    found = Origin()
    number = 0
    for _ in range(_MAX_STEPS):
        opcode = value.opcode
        if opcode in ("all-reduce", "reduce-scatter"):
            found.place = value.computation.name, value.name, number
            return found
        if opcode in MOVES or opcode in ("dynamic-slice", "pad") or is_filled_up(value):
            value = value.operands[0]
        elif opcode == "concatenate" and (aligned := end_and_shard(value)) is not None:
            value = aligned[1]
        elif opcode == "fusion" and value.called:
            found.fusions.append(value)
            value = value.called[0].root
        elif opcode == "parameter" and found.fusions and (place := value.parameter_number) is not None:
            fusion = found.fusions.pop()
            if place >= len(fusion.operands):
                break
            value = fusion.operands[place]
        elif opcode == "get-tuple-element":
            source, index = value.operands[0], value.tuple_index or 0
            if source.opcode == "fusion" and source.called and source.called[0].root.opcode == "tuple":
                found.fusions.append(source)
                value = source.called[0].root.operands[index]
            else:
                number, value = index, source
        else:
            break
    return Origin()


def end_and_shard(joined: Instruction) -> tuple[Instruction, Instruction] | None:
    """The permute of a shard's end and the shard, where the end of the device before stands in front of the shard."""
    if len(joined.operands) != 2:
        return None
    end, shard = joined.operands
    permute = end.operands[0] if end.opcode == "collective-permute-done" else end
    if not permute.opcode.startswith("collective-permute") or len(permute.operands) != 1:
        return None
    piece = permute.operands[0]
    return (permute, shard) if piece.opcode == "slice" and piece.operands[0] is shard else None
