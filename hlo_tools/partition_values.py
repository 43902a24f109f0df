"""The value of a small integer expression on each partition: which slice of an array does this device take?

An expression is worked out for many partitions at once: a table of one entry for each of them is read once, so that the
work grows with the devices and not with their square.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence

from .instruction import Instruction

Value = tuple[int, ...]

_INTEGER = re.compile(r"-?\d+")
_MAX_STEPS = 256
_MAX_TABLE = 1 << 16
# An index along an axis of the mesh is a division and a remainder; where sizes are powers of two, a shift and a mask.
_TWO = ("add", "subtract", "multiply", "divide", "remainder", "and", "shift-right-logical", "maximum", "minimum")
# JAX lets an index count from the end: `select(index < 0, index + size, index)` stands before every slice.
_COMPARES = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}
_WIDEST = 64
_SAME = ("copy", "reshape", "bitcast", "convert")


class NotConstant(Exception):
    """The expression depends on more than the partition number and constants, or uses an operation not known here."""


class NotPrinted(Exception):
    """The expression looks up a table that the text leaves out: XLA prints `{...}` for more than ten elements."""


Given = Mapping[int, Instruction]


def values_on(instruction: Instruction, partitions: Sequence[int], given: Given | None = None) -> list[int]:
    """A scalar integer instruction's value on each of these partitions. Raises NotConstant or NotPrinted.

    `given` says what parameters of the computations around it stand for, by their identity.
    """
    return _scalars(_values(instruction, partitions, _MAX_STEPS, given or {}), len(partitions))


def _scalars(values: Value | list[int], count: int) -> list[int]:
    """One number for each of `count` partitions."""
    if isinstance(values, list):
        return values
    if len(values) != 1:
        raise NotConstant
    return [values[0]] * count


def _values(instruction: Instruction, partitions: Sequence[int], steps: int, given: Given) -> Value | list[int]:
    """An array that is the same on every partition, or one number for each of them."""
    if steps == 0:
        raise NotConstant
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "partition-id":
        return list(partitions)
    if opcode == "constant":
        return _table(instruction)
    if opcode in _SAME and operands:
        return _values(operands[0], partitions, steps - 1, given)
    if opcode == "parameter" and (argument := given.get(id(instruction))) is not None:
        return _values(argument, partitions, steps - 1, given)
    if opcode == "fusion" and instruction.called:
        fused = instruction.called[0]
        inside = {
            id(parameter): operands[parameter.parameter_number or 0]
            for parameter in fused.parameters
            if (parameter.parameter_number or 0) < len(operands)
        }
        return _values(fused.root, partitions, steps - 1, {**given, **inside})
    count = len(partitions)
    if opcode == "dynamic-slice" and len(operands) == 2 and instruction.shape.elements == 1:
        # The place first: a table that is not printed says something only if the partition number chooses from it.
        places = _scalars(_values(operands[1], partitions, steps - 1, given), count)
        table = _values(operands[0], partitions, steps - 1, given)
        if isinstance(table, list):
            return table
        if not table:
            raise NotConstant
        # The start of a dynamic slice is clamped so that the slice stays inside.
        return [table[min(max(place, 0), len(table) - 1)] for place in places]
    if opcode in _TWO and len(operands) == 2:
        left, right = (_scalars(_values(operand, partitions, steps // 2, given), count) for operand in operands)
        return [_arithmetic(opcode, one, other) for one, other in zip(left, right, strict=True)]
    if opcode == "compare" and len(operands) == 2:
        left, right = (_scalars(_values(operand, partitions, steps // 2, given), count) for operand in operands)
        holds = _COMPARES.get(instruction.attributes.get("direction", ""))
        if holds is None:
            raise NotConstant
        return [int(holds(one, other)) for one, other in zip(left, right, strict=True)]
    if opcode == "select" and len(operands) == 3:
        which, yes, no = (_scalars(_values(operand, partitions, steps // 3, given), count) for operand in operands)
        return [one if chosen else other for chosen, one, other in zip(which, yes, no, strict=True)]
    if opcode == "clamp" and len(operands) == 3:
        least, value, most = (_scalars(_values(operand, partitions, steps // 3, given), count) for operand in operands)
        return [max(low, min(each, high)) for low, each, high in zip(least, value, most, strict=True)]
    raise NotConstant


def _arithmetic(opcode: str, left: int, right: int) -> int:
    if opcode == "add":
        return left + right
    if opcode == "subtract":
        return left - right
    if opcode == "multiply":
        return left * right
    if opcode == "maximum":
        return max(left, right)
    if opcode == "minimum":
        return min(left, right)
    if right < 0 or left < 0:
        raise NotConstant
    if opcode == "and":
        return left & right
    if opcode == "shift-right-logical":
        return left >> min(right, _WIDEST)
    if right == 0:
        raise NotConstant
    return left // right if opcode == "divide" else left % right


def _table(instruction: Instruction) -> Value:
    if instruction.shape.elements > _MAX_TABLE or instruction.shape.dtype[:1] not in "su":
        raise NotConstant
    text = instruction.operand_text
    if "..." in text:
        raise NotPrinted
    return tuple(int(digits) for digits in _INTEGER.findall(text))
