"""Shapes of instructions whose text prints none (XLA's own tests do that; dumps never do)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.errors import ContractLintError
from .shape import Shape

if TYPE_CHECKING:
    from .instruction import Instruction

# Opcodes whose result has the shape of their first operand.
_FIRST_OPERAND = frozenset(
    (
        "abs",
        "add",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "collective-permute",
        "copy",
        "cosine",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "log",
        "log-plus-one",
        "logistic",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "opt-barrier",
        "or",
        "optimization-barrier",
        "popcnt",
        "power",
        "remainder",
        "reverse",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "sine",
        "sort",
        "sqrt",
        "subtract",
        "tan",
        "tanh",
        "xor",
        "all-reduce",
        "dynamic-update-slice",
        "scatter",
        "cholesky",
        "count-leading-zeros",
        "reduce-precision",
        "select-and-scatter",
    )
)


def infer_shape(instruction: Instruction) -> Shape:
    """From the operands' shapes. Raises ContractLintError where the opcode's rule is not known here."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "tuple":
        return Shape("tuple", parts=[operand.shape for operand in operands])
    if operands:
        first = operands[0].shape
        if opcode in _FIRST_OPERAND and (len(operands) == 1 or opcode not in ("all-reduce", "sort")):
            return first
        if opcode in _FIRST_OPERAND:
            return Shape("tuple", parts=[operand.shape for operand in operands])
        if opcode == "select":
            return operands[1].shape
        if opcode in ("compare", "is-finite"):
            return Shape("pred", first.dims, dynamic=first.dynamic)
        element = instruction.tuple_index
        if element is not None and element < len(first.parts):
            return first.parts[element]
    if opcode in ("call", "fusion", "while", "map") and instruction.called:
        return operands[0].shape if opcode == "while" and operands else instruction.called[0].root.shape
    place = instruction.place
    where = instruction.module.location(instruction._span[0]) if place and instruction._span else None
    raise ContractLintError(f"instruction {instruction.name!r} ({opcode}) is printed without a shape", where)
