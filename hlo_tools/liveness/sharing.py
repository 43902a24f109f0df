"""Whether an instruction may write its result over an operand that nothing reads later.

XLA's rules (hlo_dataflow_analysis, CanShareOperandBufferWithUser): the same shape and layout, and each element of the
operand read before, or as, the same element of the result is written.
"""

from __future__ import annotations

from dataclasses import replace

from ..instruction import Instruction
from .values import Value, Values

_ELEMENTWISE = frozenset(
    (
        *("abs", "add", "and", "atan2", "bitcast-convert", "cbrt", "ceil", "clamp", "clz", "compare", "complex"),
        *("convert", "copy", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor", "imag"),
        *("is-finite", "log", "log-plus-one", "logistic", "map", "maximum", "minimum", "multiply", "negate", "not"),
        *("or", "popcnt", "power", "real", "reduce-precision", "remainder", "round-nearest-afz"),
        *("round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical"),
        *("sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor"),
    )
)
_IN_PLACE = frozenset(("dynamic-update-slice", "scatter", "sort", "while", "call"))
_SUMS = frozenset(("all-reduce", "all-reduce-start"))
_BEFORE_UPDATE = frozenset(("bitcast", "convert", "copy"))
_MAX_VISITED = 512


def may_overwrite(result: Value, operand: Value, in_place_sums: bool) -> bool:
    """Whether `result` may take the memory of `operand`, which its instruction reads as the last one.

    `in_place_sums`: the backend sums over devices in place (TPU and CUDA do, CPU does not).
    """
    user = result.instruction
    if operand.instruction not in user.operands or result.size != operand.size:
        return False
    if _shape_text(operand) != _shape_text(result):
        return False
    if user.opcode == "fusion":
        return _fusion_may(user, result, operand)
    if user.opcode in _SUMS:
        return in_place_sums
    return user.opcode in _IN_PLACE or (user.opcode in _ELEMENTWISE and user.opcode != "copy")


def may_touch(values: Values, later: Value, earlier: Value, in_place_sums: bool) -> bool:
    """Whether `later` may begin in memory whose last reader makes it.

    What is overwritten is the array as that reader is given it: an element of a loop's result, for one.
    """
    return any(
        values.of(operand, ()) is earlier
        and may_overwrite(later, replace(earlier, instruction=operand, index=()), in_place_sums)
        for operand in later.instruction.operands
    )


def _shape_text(value: Value) -> str:
    return value.instruction.shape.at(value.index).text


def _fusion_may(fusion: Instruction, result: Value, operand: Value) -> bool:
    if not fusion.called:
        return False
    root = fusion.called[0].root
    made = root
    if result.index:
        if root.opcode != "tuple" or result.index[0] >= len(root.operands):
            return False
        made = root.operands[result.index[0]]
    while made.opcode == "bitcast" and made.operands:
        made = made.operands[0]
    numbers = {number for number, each in enumerate(fusion.operands) if each is operand.instruction}
    parameters = [each for each in fusion.called[0].parameters if each.parameter_number in numbers]
    return bool(parameters) and all(_leads_to(parameter, made, root) for parameter in parameters)


def _leads_to(parameter: Instruction, made: Instruction, root: Instruction) -> bool:
    """Whether a parameter is only read element by element on its way to `made`, or is what `made` updates."""
    if made.opcode in ("dynamic-update-slice", "scatter") and made.operands:
        updated = made.operands[0]
        while updated.opcode in _BEFORE_UPDATE and updated.operands:
            updated = updated.operands[0]
        if updated is parameter:
            return True
    pending, seen = [parameter], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > _MAX_VISITED or value.shape.elements != parameter.shape.elements:
            return False
        if value is not parameter and value.opcode not in _ELEMENTWISE and value.opcode != "bitcast":
            return False
        for user in value.users:
            if user is not root or root.opcode != "tuple":
                pending.append(user)
            elif value is not made:
                return False
    return True
