"""Tables of pointers: a tuple that runs at run time is one array of addresses, in temporary memory of its own."""

from __future__ import annotations

from ..instruction import Instruction
from ..module import Computation
from .schedule import INLINE, Schedule, condition_and_body

POINTER = 8
_PASSES = frozenset(("parameter", "get-tuple-element", "call", "optimization-barrier", "domain", "add-dependency"))
"""These hand on a tuple that something else made."""


def pointer_tables(schedule: Schedule, entry: Computation) -> list[int]:
    """Bytes of each table, in the order of the program.

    A loop's state has one table, wherever it is put together; what the step returns is no temporary. Tuples within
    tuples are not looked at.
    """
    shared = {id(entry.root)}
    for instruction in schedule.order:
        shared |= {id(other) for other in _same_table(instruction)}
    return [
        POINTER * len(instruction.shape.parts)
        for instruction in schedule.order
        if instruction.shape.is_tuple and instruction.opcode not in _PASSES and id(instruction) not in shared
    ]


def _same_table(instruction: Instruction) -> list[Instruction]:
    """What makes a tuple that lies in the table of this instruction's result."""
    if instruction.opcode == "while":
        pair = condition_and_body(instruction)
        return [*instruction.operands[:1], *([pair[1].root] if pair is not None else [])]
    return [called.root for called in instruction.called] if instruction.opcode in INLINE else []
