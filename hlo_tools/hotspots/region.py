"""The arithmetic around an array: all values of its size that follow from each other, up to the products on both sides.

    product -> scale, mask, softmax, dropout, ... (all of one size) -> product

Values of one size grow into a region through elementwise operations, moves and broadcasts, forwards and backwards.
Products end it: those that make a value of this size (all that read it belong to the region: a compiler may compute a
softmax again for each of them) and those that take one. Reductions of it are part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..cost.opcodes import PLUMBING
from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..instruction import Instruction
from ..shape import Shape
from .values import POINTWISE, elements, is_product, kernel_of

# An attention layer, forwards and backwards, has some dozens of values; a region of more is no one kernel.
_MAX_MEMBERS = 2048


@dataclass(slots=True)
class Region:
    """`members` are of `size` elements. `sources` and `sinks` are products, `reductions` take members to fewer
    elements; `inputs` are of that size too, and something else made them."""

    size: int
    members: dict[Value, None] = field(default_factory=dict)
    sources: dict[Value, None] = field(default_factory=dict)
    sinks: dict[Value, None] = field(default_factory=dict)
    reductions: dict[Value, None] = field(default_factory=dict)
    inputs: dict[Value, None] = field(default_factory=dict)
    complete: bool = True

    def kernels(self) -> list[Instruction]:
        """The instructions that run it, in program order."""
        every = {**self.members, **self.sources, **self.sinks, **self.reductions}
        found = dict.fromkeys(kernel_of(value) for value in every)
        return sorted(found, key=lambda kernel: kernel.index)

    def moved(self, flow: Flow, traffic: Traffic) -> int:
        """Bytes of its arrays that its kernels read and write."""
        return sum(
            traffic.size(shape).device
            for kernel in self.kernels()
            if kernel.opcode not in PLUMBING
            for shape in self._touched(kernel, flow)
        )

    def _touched(self, kernel: Instruction, flow: Flow) -> Iterator[Shape]:
        """Every array of the region among the operands and results of a kernel."""
        at = flow.at(kernel)
        for operand in dict.fromkeys(kernel.operands):
            if not operand.shape.is_tuple and self.holds(flow.maker(Value(operand, at.around))):
                yield operand.shape
        if kernel.opcode.endswith("-start"):
            return
        if not kernel.shape.is_tuple:
            if self.holds(flow.maker(at)):
                yield kernel.shape
        elif kernel.called and kernel.called[0].root.opcode == "tuple":
            for result in kernel.called[0].root.operands:
                if self.holds(flow.maker(Value(result, (*at.around, kernel)))):
                    yield result.shape

    def holds(self, value: Value) -> bool:
        """Whether an array is one of the region: of its size alone proves nothing, what a loss reads may be as large
        as its logits."""
        return value in self.members or value in self.sources or value in self.inputs

    def around(self, flow: Flow, traffic: Traffic) -> int:
        """Bytes of the products' other operands and results."""
        shapes = []
        for value in {**self.sources, **self.sinks}:
            made = value.instruction
            for operand in made.operands:
                if not self.holds(flow.maker(Value(operand, value.around))):
                    shapes.append(operand.shape)
            if value not in self.sources and not made.shape.is_tuple:
                shapes.append(made.shape)
        return sum(traffic.size(shape).device for shape in shapes)


def region_around(flow: Flow, start: Value) -> Region:
    """The region that a value lies in."""
    region = Region(elements(start))
    pending = [start]
    region.members[start] = None
    while pending:
        if len(region.members) > _MAX_MEMBERS:
            region.complete = False
            return region
        value = pending.pop()
        for operand in flow.operands(value) if value not in region.sources else ():
            if elements(operand) == region.size:
                _grow(region, operand, pending)
        for reader in flow.readers(value):
            if reader.user is not None:
                _read(region, reader.user, pending)
    return region


def _grow(region: Region, value: Value, pending: list[Value]) -> None:
    """Takes in a value that a member is made of."""
    made = value.instruction
    if is_product(made):
        if value not in region.sources:
            region.sources[value] = None
            pending.append(value)
    elif made.opcode not in POINTWISE and made.opcode not in ("constant", "iota"):
        region.inputs[value] = None
    elif value not in region.members and made.opcode in POINTWISE:
        region.members[value] = None
        pending.append(value)


def _read(region: Region, user: Value, pending: list[Value]) -> None:
    """Takes in what reads a member."""
    made = user.instruction
    if is_product(made):
        region.sinks[user] = None
    elif made.opcode == "reduce":
        region.reductions[user] = None
    elif made.opcode in POINTWISE and elements(user) == region.size and user not in region.members:
        region.members[user] = None
        pending.append(user)
