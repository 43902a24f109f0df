"""The value of a small integer expression on one partition: which slice of an array does this device take?"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .instruction import Instruction

Value = tuple[int, ...]

_INTEGER = re.compile(r"-?\d+")
_MAX_STEPS = 64
_MAX_TABLE = 1 << 16
# An index along an axis of the mesh is a division and a remainder; where sizes are powers of two, a shift and a mask.
_TWO = ("add", "subtract", "multiply", "divide", "remainder", "and", "shift-right-logical")
_WIDEST = 64
_SAME = ("copy", "reshape", "bitcast", "convert")


class NotConstant(Exception):
    """The expression depends on more than the partition number and constants, or uses an operation not known here."""


class NotPrinted(Exception):
    """The expression looks up a table that the text leaves out: XLA prints `{...}` for more than ten elements."""


Given = Mapping[int, Instruction]


def value_on(instruction: Instruction, partition: int, given: Given | None = None) -> int:
    """A scalar integer instruction's value on one partition. Raises NotConstant or NotPrinted.

    `given` says what parameters of the computations around it stand for, by their identity.
    """
    return _scalar(_value(instruction, partition, _MAX_STEPS, given or {}))


def _scalar(value: Value) -> int:
    if len(value) != 1:
        raise NotConstant
    return value[0]


def _value(instruction: Instruction, partition: int, steps: int, given: Given) -> Value:
    if steps == 0:
        raise NotConstant
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "partition-id":
        return (partition,)
    if opcode == "constant":
        return _table(instruction)
    if opcode in _SAME and operands:
        return _value(operands[0], partition, steps - 1, given)
    if opcode == "parameter" and (argument := given.get(id(instruction))) is not None:
        return _value(argument, partition, steps - 1, given)
    if opcode == "fusion" and instruction.called:
        fused = instruction.called[0]
        inside = {
            id(parameter): operands[parameter.parameter_number or 0]
            for parameter in fused.parameters
            if (parameter.parameter_number or 0) < len(operands)
        }
        return _value(fused.root, partition, steps - 1, {**given, **inside})
    if opcode == "dynamic-slice" and len(operands) == 2 and instruction.shape.elements == 1:
        # The place first: a table that is not printed says something only if the partition number chooses from it.
        place = _scalar(_value(operands[1], partition, steps - 1, given))
        table = _value(operands[0], partition, steps - 1, given)
        # The start of a dynamic slice is clamped so that the slice stays inside.
        return (table[min(max(place, 0), len(table) - 1)],)
    if opcode in _TWO and len(operands) == 2:
        left, right = (_scalar(_value(operand, partition, steps // 2, given)) for operand in operands)
        return (_arithmetic(opcode, left, right),)
    raise NotConstant


def _arithmetic(opcode: str, left: int, right: int) -> int:
    if opcode == "add":
        return left + right
    if opcode == "subtract":
        return left - right
    if opcode == "multiply":
        return left * right
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
