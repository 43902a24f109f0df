"""Values: which places of a program hold one and the same array in one and the same memory.

A place is an instruction and a shape index. Tuples, their elements, bitcasts and the ends of asynchronous operations
only pass a value on; a loop that returns what it was given passes it through. Every other place defines a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..instruction import Instruction
from ..shape import Shape
from .schedule import Schedule, condition_and_body

Index = tuple[int, ...]
Place = tuple[Instruction, Index]

_ALIKE = frozenset(("bitcast", "optimization-barrier", "add-dependency", "domain", "all-reduce-done", "async-update"))
_RESULT_OF_START = frozenset(("all-gather-done", "collective-permute-done", "async-done"))
_SUGAR = ("-start", "-done")
_NO_SIZE = ("token", "opaque")
_MAX_STEPS = 10_000


@dataclass(slots=True, eq=False)
class Value:
    """An array and the schedule positions from which to which it lives, both included; -1 while they are not known."""

    instruction: Instruction
    index: Index
    size: int
    space: int
    start: int = -1
    end: int = -1
    live_out: bool = False


class Values:
    """The values of one scheduled module, found when they are asked for."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._known: dict[tuple[int, Index], Value | None] = {}
        self._carried: dict[tuple[int, Index], bool] = {}

    def __iter__(self) -> Iterator[Value]:
        """Every value found so far, each once."""
        return iter({id(value): value for value in self._known.values() if value is not None}.values())

    def of(self, instruction: Instruction, index: Index) -> Value | None:
        """The value at a place; None for a tuple and for an index the shape does not have."""
        passed: list[tuple[int, Index]] = []
        for _ in range(_MAX_STEPS):
            key = (id(instruction), index)
            if key in self._known:
                break
            passed.append(key)
            before = self._before(instruction, index)
            if before is None:
                self._known[key] = _defined(instruction, index)
                break
            instruction, index = before
        found = self._known.get((id(instruction), index))
        for key in passed:
            self._known[key] = found
        return found

    def _before(self, instruction: Instruction, index: Index) -> Place | None:
        """The place that hands its value to this one; None where the value is defined here."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "parameter":
            return self._given(instruction, index)
        if opcode == "tuple":
            return (operands[index[0]], index[1:]) if index and index[0] < len(operands) else None
        if opcode == "call":
            return (instruction.called[0].root, index) if instruction.called else None
        if not operands:
            return None
        if opcode == "get-tuple-element":
            return operands[0], (instruction.tuple_index or 0, *index)
        if opcode in _ALIKE:
            return operands[0], index
        if opcode == "while":
            return (operands[0], index) if self.is_carried(instruction, index) else None
        return self._asynchronous(instruction, index)

    def _asynchronous(self, instruction: Instruction, index: Index) -> Place | None:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode in ("copy-done", "recv-done"):
            return (operands[0], (0,)) if index in ((), (0,)) else None
        if opcode in ("copy-start", "send"):
            passed = (1,) if opcode == "copy-start" else (0,)
            return (operands[0], ()) if index == passed else None
        if opcode in _RESULT_OF_START or _is_sugar(instruction, "-done"):
            return operands[0], (1, *index)
        if opcode == "async-start" and index[:1] == (1,):
            return (instruction.called[0].root, index[1:]) if instruction.called else None
        if index[:1] != (0,):
            return None
        if opcode == "async-start" or _is_sugar(instruction, "-start"):
            return (operands[index[1]], index[2:]) if len(index) > 1 and index[1] < len(operands) else None
        if opcode in ("all-gather-start", "collective-permute-start"):
            if len(index) > 1:
                return (operands[index[1]], index[2:]) if index[1] < len(operands) else None
            return (operands[0], ()) if len(operands) == 1 else None
        return None

    def _given(self, parameter: Instruction, index: Index) -> Place | None:
        """What the instruction that runs a computation gives for its parameter, where it is the same on every run."""
        computation = parameter.computation
        caller, number = self.schedule.callers.get(computation.name), parameter.parameter_number or 0
        if caller is None:
            return None
        if caller.opcode == "conditional":
            names = [called.name for called in caller.called]
            branch = names.index(computation.name) + 1 if computation.name in names else 0
            return (caller.operands[branch], index) if 0 < branch < len(caller.operands) else None
        if caller.opcode != "while":
            return (caller.operands[number], index) if number < len(caller.operands) else None
        return (caller.operands[0], index) if caller.operands and self.is_carried(caller, index) else None

    def is_carried(self, loop: Instruction, index: Index) -> bool:
        """Whether the body of a loop returns what it was given at this index."""
        key = (id(loop), index)
        if key not in self._carried:
            self._carried[key] = False
            self._carried[key] = self._returns_its_own(loop, index)
        return self._carried[key]

    def _returns_its_own(self, loop: Instruction, index: Index) -> bool:
        pair = condition_and_body(loop)
        if pair is None or not pair[1].parameters:
            return False
        given = pair[1].parameters[0]
        place: Place | None = (pair[1].root, index)
        for _ in range(_MAX_STEPS):
            if place is None:
                return False
            instruction, at = place
            if instruction is given:
                return at == index
            place = None if instruction.opcode == "parameter" else self._before(instruction, at)
        return False


def leaves(shape: Shape) -> Iterator[tuple[Index, Shape]]:
    """The arrays of a shape with their indices."""
    return ((tuple(index), leaf) for index, leaf in shape.leaves() if leaf.dtype not in _NO_SIZE)


def _is_sugar(instruction: Instruction, ending: str) -> bool:
    """Whether this is one half of an operation that is printed asynchronous without its wrapper, as `slice-start`."""
    if not instruction.opcode.endswith(ending) or instruction.opcode in ("all-reduce-start", "copy-start"):
        return False
    start = instruction if ending == "-start" else instruction.operands[0]
    parts = start.shape.parts if start.opcode.endswith("-start") else ()
    return bool(parts) and parts[0].is_tuple


def _defined(instruction: Instruction, index: Index) -> Value | None:
    try:
        shape = instruction.shape.at(index)
    except IndexError:
        return None
    if shape.is_tuple or shape.dtype in _NO_SIZE:
        return None
    return Value(instruction, index, shape.padded_bytes, shape.memory_space)
