"""Whether two programs are the same up to names and the order of independent instructions.

Every instruction gets a number from what it is, its operands' numbers and those of the computations it calls; a
computation's number is that of its root with the numbers of all its instructions, sorted, so that sharing, dead code
and side effects count and order does not. Linear but for that sort.
"""

from __future__ import annotations

from ..instruction import Instruction
from ..module import Computation, HloModule
from .keys import Keys, called_by, ordered

# An element read from a tuple is spelled as an instruction by one compiler and as `%x#1` by the next.
_UNCOUNTED = frozenset(("get-tuple-element",))
_OPEN = -1
# Attributes of a module that say what it does; the rest is about how it was compiled.
_MODULE = ("replica_count", "num_partitions")


class Fingerprints:
    """Numbers of one module's computations. `layouts` and fusion kinds count, so equal means equal as run."""

    def __init__(self, module: HloModule, keys: Keys) -> None:
        self.module = module
        self._keys = keys
        self._computations: dict[str, int] = {}

    def program(self) -> int:
        """The number of the whole program: its entry, and what the header says of devices and aliasing."""
        attributes = self.module.attributes
        said = tuple(attributes.get(key, "1").strip() for key in _MODULE)
        alias = "".join(attributes.get("input_output_alias", "").split())
        return self._keys.number(("program", self.computation(self.module.entry), said, alias))

    def computation(self, wanted: Computation) -> int:
        """The number of a computation; callees are read first, without recursion. A circle of calls has no number."""
        stack = [wanted]
        while stack:
            computation = stack[-1]
            if self._computations.get(computation.name, _OPEN) != _OPEN:
                stack.pop()
                continue
            waiting = [] if computation.name in self._computations else self._callees(computation)
            self._computations[computation.name] = _OPEN
            if waiting:
                stack += waiting
                continue
            self._computations[computation.name] = self._read(computation)
            stack.pop()
        return self._computations[wanted.name]

    def _callees(self, computation: Computation) -> list[Computation]:
        found = {}
        for instruction in computation.instructions:
            for callee in called_by(instruction):
                if callee.name not in self._computations:
                    found[callee.name] = callee
        return list(found.values())

    def _read(self, computation: Computation) -> int:
        numbers: dict[int, int] = {}
        for instruction in computation.instructions:
            if id(instruction) in numbers:
                continue
            try:
                # Almost always in order: operands stand before what reads them.
                operands = tuple([numbers[id(operand)] for operand in instruction.operands])
            except KeyError:
                self._below(instruction, numbers)
            else:
                numbers[id(instruction)] = self._number(instruction, operands)
        counted = sorted(
            numbers[id(instruction)] for instruction in computation.instructions if instruction.opcode not in _UNCOUNTED
        )
        return self._keys.number(("computation", numbers[id(computation.root)], tuple(counted)))

    def _below(self, wanted: Instruction, numbers: dict[int, int]) -> None:
        """The numbers of an instruction and of everything it reads that has none yet."""
        stack = [wanted]
        while stack:
            instruction = stack[-1]
            if id(instruction) in numbers:
                if numbers[id(instruction)] != _OPEN:
                    stack.pop()
                    continue
            else:
                numbers[id(instruction)] = _OPEN
                waiting = [operand for operand in instruction.operands if id(operand) not in numbers]
                if waiting:
                    stack += waiting
                    continue
            stack.pop()
            operands = tuple(numbers[id(operand)] for operand in instruction.operands)
            numbers[id(instruction)] = self._number(instruction, operands)

    def _number(self, instruction: Instruction, operands: tuple[int, ...]) -> int:
        keys, opcode = self._keys, instruction.opcode
        called = tuple([self._computations.get(callee.name, _OPEN) for callee in called_by(instruction)])
        kind = instruction.attributes.get("kind", "") if opcode == "fusion" else ""
        key = (keys.own(instruction), keys.layout(instruction.shape), kind, ordered(opcode, operands), called)
        return keys.number(key)
