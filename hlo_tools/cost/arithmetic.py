"""Operations of one execution of an instruction that is no matrix product, by the rules of XLA's cost analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ..instruction import Instruction
from ..module import Computation
from ..shape import Shape
from ..text.attributes import integer
from .opcodes import ELEMENTWISE, TRANSCENDENTAL
from .window import extents


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations, and transcendental functions apart from them."""

    flops: int = 0
    transcendentals: int = 0

    def times(self, count: int) -> Operations:
        return Operations(self.flops * count, self.transcendentals * count)


NONE = Operations()
Applied = Callable[[Computation], Operations]


def operations(instruction: Instruction, applied: Applied) -> Operations:
    """What one execution computes. `applied` gives the cost of the computation that a reduction or a map applies."""
    opcode = instruction.opcode
    if opcode in ELEMENTWISE:
        return Operations(flops=instruction.shape.elements)
    if opcode in TRANSCENDENTAL:
        return Operations(transcendentals=instruction.shape.elements)
    handler = _HANDLERS.get(opcode)
    return handler(instruction, applied) if handler is not None and instruction.operands else NONE


def _reduce(instruction: Instruction, applied: Applied) -> Operations:
    """One application for each element that disappears."""
    gone = instruction.operands[0].shape.elements - _first(instruction.shape).elements
    return _apply(instruction, applied, max(gone, 0))


def _map(instruction: Instruction, applied: Applied) -> Operations:
    return _apply(instruction, applied, instruction.shape.elements)


def _reduce_window(instruction: Instruction, applied: Applied) -> Operations:
    """For each element of the result, one application less than the window has elements."""
    result = _first(instruction.shape)
    rank = len(result.dims)
    sides = extents(instruction.attributes.get("window"), rank)
    window = prod(side.size for side in sides)
    count = (window - 1) * result.elements
    # A window that reaches from every element over the whole dimension is a reduction followed by a broadcast.
    wide = [place for place, side in enumerate(sides) if side.size != 1]
    if len(wide) == 1 and not instruction.shape.is_tuple:
        side, length = sides[wide[0]], result.dims[wide[0]]
        if side.low == length - 1 and side.size == 2 * side.low + 1:
            count = result.elements // length + length - 1
    return _apply(instruction, applied, max(count, 0))


def _select_and_scatter(instruction: Instruction, applied: Applied) -> Operations:
    source = instruction.operands[1].shape if len(instruction.operands) > 1 else instruction.shape
    window = prod(side.size for side in extents(instruction.attributes.get("window"), len(source.dims)))
    select, scatter = (applied(computation) for computation in (*instruction.called[:2], *instruction.called[:1])[:2])
    chosen, added = select.times(source.elements * (window - 1)), scatter.times(source.elements)
    return Operations(chosen.flops + added.flops, chosen.transcendentals + added.transcendentals)


def _scatter(instruction: Instruction, applied: Applied) -> Operations:
    """One application for each element of the (first) updates."""
    arrays = (len(instruction.operands) - 1) // 2
    return _apply(instruction, applied, instruction.operands[arrays + 1].shape.elements if arrays else 0)


def _sort(instruction: Instruction, _: Applied) -> Operations:
    """n log2 n comparisons."""
    count = instruction.operands[0].shape.elements
    return Operations(flops=count * (count - 1).bit_length() if count > 1 else 0)


def _fft(instruction: Instruction, _: Applied) -> Operations:
    """8 operations (a complex multiply-add) for each element and factor of two."""
    lengths = [integer(n) for n in instruction.attributes.get("fft_length", "").strip("{}").split(",") if n.strip()]
    factors = prod(max(length, 1).bit_length() - 1 for length in lengths)
    return Operations(flops=8 * factors * _first(instruction.operands[0].shape).elements)


def _triangular_solve(instruction: Instruction, _: Applied) -> Operations:
    if len(instruction.operands) < 2 or not instruction.operands[0].shape.dims:
        return NONE
    a, b = instruction.operands[0].shape, instruction.operands[1].shape
    return Operations(flops=2 * a.dims[-1] * b.elements)


def _cholesky(instruction: Instruction, _: Applied) -> Operations:
    """n**3 / 3 for each matrix."""
    a = instruction.operands[0].shape
    return Operations(flops=a.dims[-1] * a.elements // 3 if a.dims else 0)


def _apply(instruction: Instruction, applied: Applied, count: int) -> Operations:
    return applied(instruction.called[0]).times(count) if instruction.called else NONE


def _first(shape: Shape) -> Shape:
    return next((leaf for _, leaf in shape.leaves()), shape)


_HANDLERS: dict[str, Callable[[Instruction, Applied], Operations]] = {
    "reduce": _reduce,
    "map": _map,
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    "scatter": _scatter,
    "sort": _sort,
    "fft": _fft,
    "triangular-solve": _triangular_solve,
    "cholesky": _cholesky,
}
