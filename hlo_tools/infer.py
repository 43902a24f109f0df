"""Shapes of instructions whose text prints none. XLA's own tests write such texts; compilers never do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..contracts.errors import ContractLintError
from .shape import Shape
from .text.attributes import integer

if TYPE_CHECKING:
    from .instruction import Instruction

# Opcodes whose result has the shape of their first operand.
_FIRST_OPERAND = frozenset(
    (
        *("abs", "add", "and", "atan2", "cbrt", "ceil", "cholesky", "clamp", "collective-permute", "copy", "cosine"),
        *("count-leading-zeros", "divide", "dynamic-update-slice", "erf", "exponential", "exponential-minus-one"),
        *("floor", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "opt-barrier"),
        *("or", "popcnt", "power", "reduce-precision", "remainder", "reverse"),
        *("round-nearest-afz", "round-nearest-even", "rsqrt", "select-and-scatter", "shift-left"),
        *("shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor"),
    )
)
# Opcodes that give back as many arrays as they take.
_ALL_OPERANDS = frozenset(("all-reduce", "sort", "tuple"))
_NUMBERS = re.compile(r"\d+")
_PADDING = re.compile(r"(-?\d+)_(-?\d+)(?:_(\d+))?")


def infer_shape(instruction: Instruction) -> Shape:
    """From the operands' shapes and the attributes (xla/service/shape_inference.cc).

    Raises ContractLintError where the opcode's rule is not known here, or where the operands do not fit it.
    Operands that print no shape either are inferred first, without recursion.
    """
    stack, begun = [instruction], {id(instruction)}
    while True:
        current = stack[-1]
        needed = [*current.operands, *(computation.root for computation in current.called)]
        missing = [other for other in needed if not other.has_shape]
        if missing:
            if id(missing[0]) in begun:
                raise ContractLintError(f"instruction {current.name!r} depends on itself", current.location)
            begun.add(id(missing[0]))
            stack.append(missing[0])
            continue
        shape = _infer(current)
        stack.pop()
        if not stack:
            return shape
        current.set_shape(shape)


def _infer(instruction: Instruction) -> Shape:
    opcode, operands = instruction.opcode, instruction.operands
    try:
        if opcode == "tuple" or (opcode in _ALL_OPERANDS and len(operands) > 1):
            return Shape("tuple", parts=[operand.shape for operand in operands])
        if operands and (opcode in _FIRST_OPERAND or opcode in _ALL_OPERANDS):
            return operands[0].shape
        rule = _RULES.get(opcode)
        if rule is not None:
            return rule(instruction)
    except (IndexError, ValueError):
        pass
    message = f"instruction {instruction.name!r} ({opcode}) is printed without a shape"
    raise ContractLintError(message, instruction.location)


def _dims(instruction: Instruction, key: str) -> list[int]:
    return [integer(n) for n in _NUMBERS.findall(instruction.attributes.get(key, ""))]


def _predicate(instruction: Instruction) -> Shape:
    first = instruction.operands[0].shape
    return Shape("pred", first.dims, dynamic=first.dynamic)


def _element(instruction: Instruction) -> Shape:
    element = instruction.tuple_index
    return instruction.operands[0].shape.parts[0 if element is None else element]


def _transpose(instruction: Instruction) -> Shape:
    source = instruction.operands[0].shape
    return Shape(source.dtype, [source.dims[d] for d in _dims(instruction, "dimensions")])


def _concatenate(instruction: Instruction) -> Shape:
    shapes = [operand.shape for operand in instruction.operands]
    (dimension,) = _dims(instruction, "dimensions")
    sizes = list(shapes[0].dims)
    sizes[dimension] = sum(shape.dims[dimension] for shape in shapes)
    return Shape(shapes[0].dtype, sizes)


def _reduce(instruction: Instruction) -> Shape:
    gone = set(_dims(instruction, "dimensions"))
    inputs = [operand.shape for operand in instruction.operands[: len(instruction.operands) // 2]]
    results = [Shape(s.dtype, [size for d, size in enumerate(s.dims) if d not in gone]) for s in inputs]
    return results[0] if len(results) == 1 else Shape("tuple", parts=results)


def _dot(instruction: Instruction) -> Shape:
    left, right = (operand.shape for operand in instruction.operands[:2])
    batch = _dims(instruction, "lhs_batch_dims")
    left_gone = {*batch, *_dims(instruction, "lhs_contracting_dims")}
    right_gone = {*_dims(instruction, "rhs_batch_dims"), *_dims(instruction, "rhs_contracting_dims")}
    sizes = [left.dims[d] for d in batch]
    sizes += [size for d, size in enumerate(left.dims) if d not in left_gone]
    sizes += [size for d, size in enumerate(right.dims) if d not in right_gone]
    return Shape(left.dtype, sizes)


def _pad(instruction: Instruction) -> Shape:
    source = instruction.operands[0].shape
    sizes = []
    edges = _PADDING.findall(instruction.attributes.get("padding", ""))
    for size, (low, high, inner) in zip(source.dims, edges, strict=True):
        sizes.append(max(0, size + integer(low) + integer(high) + max(0, size - 1) * integer(inner or "0")))
    return Shape(source.dtype, sizes)


def _complex_part(instruction: Instruction) -> Shape:
    source = instruction.operands[0].shape
    return Shape({"c64": "f32", "c128": "f64"}.get(source.dtype, source.dtype), source.dims)


_RULES: dict[str, Callable[[Instruction], Shape]] = {
    "after-all": lambda instruction: Shape("token"),
    "call": lambda instruction: instruction.called[0].root.shape,
    "compare": _predicate,
    "concatenate": _concatenate,
    "conditional": lambda instruction: instruction.called[0].root.shape,
    "dot": _dot,
    "fusion": lambda instruction: instruction.called[0].root.shape,
    "get-tuple-element": _element,
    "imag": _complex_part,
    "is-finite": _predicate,
    "pad": _pad,
    "partition-id": lambda instruction: Shape("u32"),
    "real": _complex_part,
    "reduce": _reduce,
    "replica-id": lambda instruction: Shape("u32"),
    "select": lambda instruction: instruction.operands[1].shape,
    "transpose": _transpose,
    "while": lambda instruction: instruction.operands[0].shape,
}
