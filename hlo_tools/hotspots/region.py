"""The arithmetic around an array: all values of its size that follow from each other, up to the products on both sides.

    product -> scale, mask, softmax, dropout, ... (all of one size) -> product

Values of one size grow into a region through elementwise operations, moves and broadcasts, forwards and backwards.
Products end it: those that make a value of this size (all that read it belong to the region: a compiler may compute a
softmax again for each of them) and those that take one. Reductions of it are part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..instruction import Instruction
from .values import POINTWISE, elements, is_product, kernel_of, touched

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
    leaves_it: bool = False
    """Whether a member is used by something else: it is saved, sent or returned."""
    complete: bool = True

    def kernels(self) -> list[Instruction]:
        """The instructions that run it, in program order."""
        every = {**self.members, **self.sources, **self.sinks, **self.reductions}
        found = dict.fromkeys(kernel_of(value) for value in every)
        return sorted(found, key=lambda kernel: kernel.index)

    def moved(self, traffic: Traffic) -> int:
        """Bytes of arrays of this size that its kernels read and write."""
        return sum(touched(kernel, self.size, traffic) for kernel in self.kernels())

    def around(self, traffic: Traffic) -> int:
        """Bytes of the products' other operands and results, each once."""
        shapes = []
        for value in {**self.sources, **self.sinks}:
            made = value.instruction
            shapes += [operand.shape for operand in made.operands if operand.shape.elements != self.size]
            shapes += [made.shape] if elements(value) not in (0, self.size) else []
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
            if reader.user is None:
                region.leaves_it = True
            else:
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
    elif made.opcode in POINTWISE and elements(user) == region.size:
        if user not in region.members:
            region.members[user] = None
            pending.append(user)
    else:
        region.leaves_it = True
