"""Bytes that one kernel reads and writes in device memory, each operand and result once.

A slice reads what it takes, not what it takes it from; an update in place writes what it changes. Inside a fusion
nothing touches memory but its parameters and its result. Buffers in on-chip memory (VMEM of a TPU) cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..instruction import Instruction
from ..module import Computation
from ..shape import Shape
from ..transfers import KINDS
from .matrix import call_target
from .opcodes import FREE_CALLS, PLUMBING, SUFFIXES

_TAKES = frozenset(("slice", "dynamic-slice", "gather"))
_CHANGES = frozenset(("dynamic-update-slice", "scatter"))
_PARTIAL = frozenset((*_TAKES, *_CHANGES, "fusion", *KINDS))
_HOST_MEMORY = 5
# Fusions inside fusions deeper than this are taken to read everything.
_MAX_DEPTH = 50


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
        self._reads: dict[str, dict[int, Bytes]] = {}

    def of(self, instruction: Instruction) -> Bytes:
        """One execution of an instruction outside fusions."""
        opcode = instruction.opcode
        if opcode in PLUMBING:
            return NOTHING
        if opcode.endswith(SUFFIXES):
            return self._asynchronous(instruction)
        if opcode in _TAKES:
            moved = self.size(instruction.shape)
            return moved + moved + self._indices(instruction, 1)
        if opcode in _CHANGES:
            return self._changed(instruction)
        if opcode == "custom-call" and call_target(instruction) in FREE_CALLS:
            return NOTHING
        if opcode == "fusion" and instruction.called:
            return self._fusion(instruction, instruction.called[0])
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
            space = shape.memory_space
            if space == _HOST_MEMORY:
                found = Bytes(host=shape.bytes)
            else:
                found = Bytes(device=0 if _on_chip(shape, space) else shape.bytes)
        self._sizes[id(shape)] = (shape, found)
        return found

    def _asynchronous(self, instruction: Instruction) -> Bytes:
        """A start reads its operands, the done of it writes the result."""
        if instruction.opcode.endswith("-start"):
            return self._sum(instruction.operands)
        return self.size(instruction.shape) if instruction.opcode.endswith("-done") else NOTHING

    def _sum(self, values: tuple[Instruction, ...]) -> Bytes:
        total = NOTHING
        for value in values:
            total += self.size(value.shape)
        return total

    def _indices(self, instruction: Instruction, start: int) -> Bytes:
        return self._sum(instruction.operands[start:])

    def _changed(self, instruction: Instruction) -> Bytes:
        """An update is read and written; a scatter also reads what it adds to."""
        if instruction.opcode == "dynamic-update-slice":
            update = self._sum(instruction.operands[1:2])
            return update + update + self._indices(instruction, 2)
        arrays = (len(instruction.operands) - 1) // 2
        update = self._sum(instruction.operands[arrays + 1 :])
        return update + update + update + self._sum(instruction.operands[arrays : arrays + 1])

    def _fusion(self, instruction: Instruction, fused: Computation) -> Bytes:
        reads = self._partial_reads(fused, 0)
        total = NOTHING
        for number, operand in enumerate(instruction.operands):
            total += reads[number] if number in reads else self.size(operand.shape)
        return total + (
            self._written(fused) if _PARTIAL.intersection(fused.opcodes()) else self.size(instruction.shape)
        )

    def _partial_reads(self, fused: Computation, depth: int) -> dict[int, Bytes]:
        """Bytes read of those parameters of a fusion that are not read whole, by number."""
        known = self._reads.get(fused.name)
        if known is not None:
            return known
        self._reads[fused.name] = found = {}
        if _PARTIAL.isdisjoint(fused.opcodes()) or depth > _MAX_DEPTH:
            return found
        for parameter in fused.parameters:
            read = self._read(parameter, depth)
            if read is not None:
                found[parameter.parameter_number or 0] = read
        return found

    def _read(self, value: Instruction, depth: int) -> Bytes | None:
        """What is read of a value inside a fusion; None where all of it is."""
        total = NOTHING
        pending = [value]
        while pending:
            current = pending.pop()
            for user in current.users:
                taken = self._taken(user, current, depth)
                if taken is None:
                    return None
                if user.opcode in ("bitcast", "get-tuple-element", "tuple"):
                    pending.append(user)
                total += taken
        whole = self.size(value.shape)
        return total if total.device <= whole.device and total.host <= whole.host else None

    def _taken(self, user: Instruction, value: Instruction, depth: int) -> Bytes | None:
        """What one user reads of a value; None where it reads all."""
        opcode = user.opcode
        places = [place for place, operand in enumerate(user.operands) if operand is value]
        if opcode in ("bitcast", "get-tuple-element") or (opcode == "tuple" and user.is_root) or opcode in KINDS:
            # Handed on, or moved by a collective, whose traffic belongs to the network.
            return NOTHING
        if opcode in _TAKES and places == [0]:
            return self._part(user.shape, value.shape)
        if opcode in _CHANGES and places == [0]:
            return NOTHING
        if opcode == "fusion" and user.called:
            inner = self._partial_reads(user.called[0], depth + 1)
            if all(place in inner for place in places):
                return sum((inner[place] for place in places), NOTHING)
        return None

    def _part(self, part: Shape, whole: Shape) -> Bytes:
        """Bytes of `part` in the memory that `whole` lives in."""
        there = self.size(whole)
        amount = part.bytes
        return Bytes(device=amount if there.device else 0, host=amount if there.host else 0)

    def _written(self, fused: Computation) -> Bytes:
        """What a fusion writes: updates in place count for what they change, values handed on for nothing."""
        total = NOTHING
        pending = [fused.root]
        rounds = 0
        while pending:
            value = pending.pop()
            rounds += 1
            whole = self.size(value.shape)
            while value.opcode == "bitcast" and value.operands:
                value = value.operands[0]
            if value.opcode == "tuple":
                pending.extend(value.operands)
            elif value.opcode == "dynamic-update-slice" and len(value.operands) > 1:
                total += self._part(value.operands[1].shape, value.shape)
            elif value.opcode == "scatter" and not value.shape.is_tuple and len(value.operands) == 3:
                update = self._part(value.operands[2].shape, value.shape)
                total += update + update
            elif value.opcode == "fusion" and value.called and rounds < _MAX_DEPTH:
                pending.append(value.called[0].root)
            elif value.opcode not in ("parameter", "get-tuple-element") and value.opcode not in KINDS:
                total += whole
        return total


def _on_chip(shape: Shape, space: int) -> bool:
    """Memory beside the compute unit: space 1 where shapes are tiled (VMEM), and the spaces of flags and scalars."""
    if space == 1:
        return bool(shape.layout and shape.layout.tiles)
    return space != 0
