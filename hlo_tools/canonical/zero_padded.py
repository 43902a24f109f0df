"""Whether an all-reduce sums shards that do not overlap: a gather, written as a sum.

    all-reduce(dynamic-update-slice(zeros, shard, start)) or all-reduce(pad(shard, zero)), moves and fusions aside

The shard is 1/n of the array for a group of n devices.
"""

from __future__ import annotations

from ..collectives import Collective
from ..instruction import Instruction
from .combined import part_number
from .fused_values import argument_of, made_by
from .provenance import MOVES

_MAX_STEPS = 64


def is_zero_padded(row: Collective) -> bool:
    """Whether the operand of a sum (of this array, where it travels with others) is a shard among zeros."""
    if row.kind != "all-reduce" or row.instruction is None or row.group_size < 2 or not row.count:
        return False
    if row.packed is not None:
        operand, around = row.packed
    else:
        number = part_number(row) or 0
        if number >= len(row.instruction.operands):
            return False
        operand, around = row.instruction.operands[number], ()
    shard = row.elements // row.count // row.group_size
    fusions = list(around)
    value = made_by(operand, fusions)
    if value is None:
        return False
    if value.opcode == "dynamic-update-slice" and len(value.operands) > 1:
        whole, piece = value.operands[:2]
        return piece.shape.elements == shard and _is_zero(whole, fusions)
    if value.opcode == "pad" and len(value.operands) == 2:
        piece, padding = value.operands
        return piece.shape.elements == shard and _is_zero(padding, fusions)
    return False


def _is_zero(value: Instruction, fusions: list[Instruction]) -> bool:
    """Whether every element is zero, as far as this computation and the fusions around it tell."""
    fusions = list(fusions)
    for _ in range(_MAX_STEPS):
        if value.opcode == "constant":
            return value.operand_text.strip("{} ") in ("0", "-0")
        if value.opcode == "parameter" and fusions:
            value = argument_of(value, fusions)
        elif value.opcode == "broadcast" or value.opcode in MOVES:
            value = value.operands[0]
        else:
            return False
    return False
