"""Which instruction made a value, where fusions stand between."""

from __future__ import annotations

from ..instruction import Instruction
from .provenance import MOVES

_MAX_STEPS = 64


def made_by(value: Instruction, fusions: list[Instruction]) -> Instruction | None:
    """The instruction that made a value; None where that is not known.

    Moves are looked through and fusions looked into: those around the answer are added to `fusions`, innermost last.
    """
    for _ in range(_MAX_STEPS):
        if value.opcode in MOVES and len(value.operands) == 1:
            value = value.operands[0]
        elif value.opcode == "fusion" and value.called:
            fusions.append(value)
            value = value.called[0].root
        elif value.opcode == "parameter" and fusions:
            value = argument_of(value, fusions)
        elif value.opcode == "get-tuple-element" and value.operands[0].opcode == "fusion" and value.operands[0].called:
            fusions.append(value.operands[0])
            root, position = value.operands[0].called[0].root, value.tuple_index
            if root.opcode != "tuple" or position is None or position >= len(root.operands):
                return None
            value = root.operands[position]
        else:
            return value
    return None


def argument_of(parameter: Instruction, fusions: list[Instruction]) -> Instruction:
    """What the innermost fusion is given for a parameter of its computation; the parameter where that is not known."""
    fusion, number = fusions.pop(), parameter.parameter_number
    return fusion.operands[number] if number is not None and number < len(fusion.operands) else parameter
