"""Bytes that one kernel reads and writes in device memory, each operand and result once.

A slice reads what it takes, not what it takes it from; an update in place writes what it changes. Inside a fusion
nothing touches memory but its parameters and its result. Buffers in on-chip memory (VMEM of a TPU) cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..instruction import Instruction
from ..module import Computation
from ..shape import Shape
from .demand import CHANGES, TAKES, Demand, partial, written
from .matrix import call_target
from .opcodes import FREE_CALLS, PLUMBING, SUFFIXES, base

_HOST_MEMORY = 5


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes in device memory (HBM), and in host memory where buffers are offloaded."""

    device: int = 0
    host: int = 0

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(self.device + other.device, self.host + other.host)


NOTHING = Bytes()


class Traffic:
    """Reads and writes of kernels; what it finds out about one computation or shape is kept."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[Shape, Bytes]] = {}
        self._written: dict[str, Bytes] = {}
        self._demand = Demand()

    def of(self, instruction: Instruction) -> Bytes:
        """One execution of an instruction outside fusions."""
        opcode = instruction.opcode
        if opcode in PLUMBING or opcode == "recv":
            return NOTHING
        if opcode.endswith(SUFFIXES) or opcode == "send":
            return self._asynchronous(instruction)
        if opcode in TAKES:
            taken = self._taken(instruction, instruction.shape.elements)
            return taken + self.size(instruction.shape) + self._sum(instruction.operands[1:])
        if opcode in CHANGES:
            return self._changed(instruction)
        if opcode == "custom-call" and call_target(instruction) in FREE_CALLS:
            return NOTHING
        if opcode == "fusion" and instruction.called:
            fused = instruction.called[0]
            if partial(fused):
                return self._partial(instruction, fused)
        return self._sum(instruction.operands) + self.size(instruction.shape)

    def size(self, shape: Shape) -> Bytes:
        """A whole value, tuples as the sum of their arrays."""
        known = self._sizes.get(id(shape))
        if known is not None:
            return known[1]
        if shape.parts:
            found = NOTHING
            for _, leaf in shape.leaves():
                found += self.size(leaf)
        else:
            found = self._part(shape, shape.elements)
        self._sizes[id(shape)] = (shape, found)
        return found

    def _part(self, shape: Shape, elements: int) -> Bytes:
        """Some elements of an array, in the memory it lives in."""
        size = (elements * shape.element_bits + 7) // 8
        space = shape.memory_space
        if space == _HOST_MEMORY:
            return Bytes(host=size)
        return NOTHING if _on_chip(shape, space) else Bytes(device=size)

    def _asynchronous(self, instruction: Instruction) -> Bytes:
        """A start (a send is one) reads its operands, the done of it writes the result."""
        parts = instruction.shape.parts
        if instruction.opcode.endswith("-start") and base(instruction.opcode) in TAKES and len(parts) > 1:
            return self._taken(instruction, parts[1].elements) + self._sum(instruction.operands[1:])
        if instruction.opcode.endswith("-start") or instruction.opcode == "send":
            return self._sum(instruction.operands)
        return self.size(instruction.shape) if instruction.opcode.endswith("-done") else NOTHING

    def _taken(self, instruction: Instruction, elements: int) -> Bytes:
        """What a slice or gather reads of its first operand."""
        return self._part(instruction.operands[0].shape, elements) if instruction.operands else NOTHING

    def _sum(self, values: Sequence[Instruction]) -> Bytes:
        device = host = 0
        for value in values:
            size = self.size(value.shape)
            device += size.device
            host += size.host
        return Bytes(device, host)

    def _changed(self, instruction: Instruction) -> Bytes:
        """An update is read and written; a scatter also reads what it adds to."""
        if instruction.opcode == "dynamic-update-slice":
            update = self._sum(instruction.operands[1:2])
            return update + update + self._sum(instruction.operands[2:])
        arrays = (len(instruction.operands) - 1) // 2
        update = self._sum(instruction.operands[arrays + 1 :])
        return update + update + update + self._sum(instruction.operands[arrays : arrays + 1])

    def _partial(self, instruction: Instruction, fused: Computation) -> Bytes:
        reads = self._demand.reads(fused)
        total = self._writes(fused)
        for number, operand in enumerate(instruction.operands):
            shape = operand.shape
            some = number in reads and not shape.parts
            total += self._part(shape, reads[number]) if some else self.size(shape)
        return total

    def _writes(self, fused: Computation) -> Bytes:
        """What a fusion writes; where it adds to what is there (a scatter), it reads that too."""
        known = self._written.get(fused.name)
        if known is None:
            known = NOTHING
            for value, elements in written(fused):
                moved = self.size(value.shape) if value.shape.parts else self._part(value.shape, elements)
                known += moved + moved if value.opcode == "scatter" and elements < value.shape.elements else moved
            self._written[fused.name] = known
        return known


def _on_chip(shape: Shape, space: int) -> bool:
    """Memory beside the compute unit: space 1 where shapes are tiled (VMEM), and the spaces of flags and scalars."""
    if space == 1:
        return bool(shape.layout and shape.layout.tiles)
    return space != 0
