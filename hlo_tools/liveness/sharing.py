"""Whether an instruction may write its result over an operand that nothing reads later.

XLA's rules (hlo_dataflow_analysis, CanShareOperandBufferWithUser): the same shape and layout, and each element of the
operand read before, or as, the same element of the result is written. What fusions may write over is in `fusions`.
"""

from __future__ import annotations

from dataclasses import replace

from ..backend import Backend
from .fusions import fusion_may, is_elementwise, same_bytes
from .values import Value, Values

_UPDATED = {"scatter": 0, "set-dimension-size": 0, "dynamic-update-slice": 0, "triangular-solve": 1}
"""What changes one of its operands, by the number of that operand."""
_RUNS = frozenset(("while", "conditional", "call"))
_SUMS = frozenset(("all-reduce", "all-reduce-start"))


def may_overwrite(result: Value, operand: Value, backend: Backend) -> bool:
    """Whether `result` may take the memory of `operand`, which its instruction reads as the last one."""
    user, given = result.instruction, operand.instruction
    numbers = [number for number, each in enumerate(user.operands) if each is given]
    if not numbers or result.size != operand.size or given.opcode == "constant":
        return False
    if user.opcode == "fusion":
        shape = user.shape.at(result.index), given.shape.at(operand.index)
        alike = same_bytes(*shape) if backend != "cpu" else shape[0].text == shape[1].text
        return alike and fusion_may(user, result.index, given, backend)
    if user.shape.at(result.index).text != given.shape.at(operand.index).text:
        return False
    if user.opcode in _SUMS:
        return backend != "cpu"
    if user.opcode == "sort":
        # Only the operand that lies where this part of the result will, and only if nothing else reads it at all.
        return len(given.users) == 1 and (result.index or (0,)) == tuple(numbers)
    if user.opcode in _UPDATED:
        return numbers == [_UPDATED[user.opcode]]
    return user.opcode in _RUNS or (user.opcode != "copy" and is_elementwise(user, given))


def may_touch(values: Values, later: Value, earlier: Value, backend: Backend) -> bool:
    """Whether `later` may begin in memory whose last reader makes it.

    What is overwritten is the array as that reader is given it: an element of a loop's result, for one.
    """
    return any(
        values.of(operand, ()) is earlier
        and may_overwrite(later, replace(earlier, instruction=operand, index=()), backend)
        for operand in later.instruction.operands
    )
