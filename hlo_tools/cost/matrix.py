"""Matrix products: dots, convolutions and the library calls that stand for them, exact from shapes and dimensions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from ..instruction import Instruction
from ..shape import Shape
from ..text.attributes import integer, unquote
from .window import extents

OPCODES = frozenset(("dot", "scaled-dot", "ragged-dot", "convolution"))
# XLA's names of GPU libraries: the backend config carries the dimension numbers of the dot they replace.
GEMM_CALLS = frozenset(("__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8", "__cublas$lt$matmul$mx"))
# Which of (operand 0, operand 1, result) plays input, kernel and output of the convolution.
CONVOLUTION_CALLS: dict[str, tuple[int, int, int]] = {
    "__cudnn$convForward": (0, 1, 2),
    "__cudnn$convForwardGraph": (0, 1, 2),
    "__cudnn$convBiasActivationForward": (0, 1, 2),
    "__cudnn$convBackwardInput": (2, 1, 0),
    "__cudnn$convBackwardFilter": (0, 2, 1),
}
_CONTRACTING = re.compile(r"\"lhs_contracting_dimensions\"\s*:\s*\[([0-9\",\s]*)\]")
_STATED = re.compile(r"\"cost_estimate\"\s*:\s*\{[^{}]*?\"flops\"\s*:\s*\"?([0-9]{1,18})\"?")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)")


@dataclass(frozen=True, slots=True)
class Work:
    """One execution: operations (a multiply-add is two) on operands of `dtype`, the narrower one's where they differ.

    `stated`: the kernel's author wrote the number down; nothing in the program proves it.
    """

    dtype: str
    flops: int
    stated: bool = False


def work(instruction: Instruction) -> Work | None:
    """What a product does; None for an instruction that is none, or whose dimensions cannot be read."""
    opcode = instruction.opcode
    if opcode in ("dot", "scaled-dot"):
        return _dot(instruction, instruction.attributes.get("lhs_contracting_dims"), instruction.shape)
    if opcode == "ragged-dot":
        return _ragged(instruction)
    if opcode == "convolution" and len(instruction.operands) > 1:
        lhs, rhs = instruction.operands[0].shape, instruction.operands[1].shape
        return _convolution(instruction, lhs, rhs, instruction.shape)
    return _call(instruction) if opcode == "custom-call" else None


def call_target(instruction: Instruction) -> str:
    """The library function of a custom call."""
    return unquote(instruction.attributes.get("custom_call_target", '""'))


def _call(instruction: Instruction) -> Work | None:
    target = call_target(instruction)
    if target in GEMM_CALLS:
        found = _CONTRACTING.search(instruction.attributes.get("backend_config", "").replace('\\"', '"'))
        return _dot(instruction, found[1].replace('"', "") if found else None, _first(instruction.shape))
    if target in CONVOLUTION_CALLS and len(instruction.operands) > 1:
        shapes = [instruction.operands[0].shape, instruction.operands[1].shape, _first(instruction.shape)]
        return _convolution(instruction, *(shapes[place] for place in CONVOLUTION_CALLS[target]))
    stated = _STATED.search(instruction.attributes.get("backend_config", "").replace('\\"', '"'))
    if stated is None:
        return None
    dtype = instruction.operands[0].shape.dtype if instruction.operands else _first(instruction.shape).dtype
    return Work(dtype, int(stated[1]), stated=True)


def _dot(instruction: Instruction, contracting: str | None, result: Shape) -> Work | None:
    """2 * elements of the result * elements of the left operand's contracted dimensions."""
    if contracting is None or len(instruction.operands) < 2:
        return None
    width = _sizes(instruction.operands[0].shape, contracting)
    return None if width is None else Work(_dtype(instruction), 2 * result.elements * width)


def _ragged(instruction: Instruction) -> Work | None:
    """A dot whose rows are dealt out to groups: each row meets one group's matrix.

    Where the contracted dimension is dealt out, the result has one matrix for each group and each adds up its part.
    """
    attributes = instruction.attributes
    plain = _dot(instruction, attributes.get("lhs_contracting_dims"), instruction.shape)
    ragged = set(_integers(attributes.get("lhs_ragged_dims", "")))
    if plain is None or not ragged & set(_integers(attributes.get("lhs_contracting_dims", ""))):
        return plain
    sizes = instruction.operands[2].shape.dims if len(instruction.operands) > 2 else ()
    return Work(plain.dtype, plain.flops // max(sizes[-1] if sizes else 1, 1))


def _convolution(instruction: Instruction, lhs: Shape, rhs: Shape, result: Shape) -> Work | None:
    """2 * batch * kernel features in * out * positions that meet data, as XLA counts them; padding is no work."""
    attributes = instruction.attributes
    labels = _LABELS.match(attributes.get("dim_labels", ""))
    if labels is None or any(
        len(text) != len(s.dims) for text, s in zip(labels.groups(), (lhs, rhs, result), strict=True)
    ):
        return None
    inputs, kernel, outputs = (
        dict(zip(text, s.dims, strict=True)) for text, s in zip(labels.groups(), (lhs, rhs, result), strict=True)
    )
    spatial = sorted(key for key in inputs if key.isdecimal())
    if not {"b", "f"} <= inputs.keys() or not {"i", "o"} <= kernel.keys() or len(spatial) > len(kernel) - 2:
        return None
    positions = 1
    for key, extent in zip(spatial, extents(attributes.get("window"), len(spatial)), strict=True):
        met = extent.positions(inputs[key], outputs.get(key, 1))
        if met is None:
            return None
        positions *= met
    groups = integer(attributes.get("batch_group_count", "1")) or 1
    return Work(_dtype(instruction), 2 * (inputs["b"] // groups) * kernel["i"] * kernel["o"] * positions)


def _dtype(instruction: Instruction) -> str:
    """The narrower of both operand types (masks apart): no unit multiplies faster than its rate."""
    pair = [operand.shape for operand in instruction.operands[:2]]
    return min(pair, key=lambda shape: (shape.dtype == "pred", shape.element_bits)).dtype


def _first(shape: Shape) -> Shape:
    """A library call returns its result and its workspace as a tuple."""
    return next((leaf for _, leaf in shape.leaves()), shape)


def _sizes(shape: Shape, dims: str) -> int | None:
    places = _integers(dims)
    return prod(shape.dims[d] for d in places) if all(0 <= d < len(shape.dims) for d in places) else None


def _integers(text: str) -> list[int]:
    return [integer(n) for n in text.strip("{} ").split(",") if n.strip()]
