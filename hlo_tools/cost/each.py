"""What one instruction of a schedule costs by itself: with all that it calls, loops multiplied, once."""

from __future__ import annotations

from ..flow import WRAPPERS
from ..instruction import Instruction
from ..loops import executions
from ..module import Computation, HloModule
from .matrix import OPCODES, work
from .traffic import NOTHING, Bytes, Traffic

Products = dict[str, int]
"""Operations of matrix products, by type of the operands."""
_MAX_DEPTH = 64


class Each:
    """Answers for one module; what it finds out about a computation is kept."""

    MAY_MULTIPLY = frozenset((*OPCODES, "fusion", "custom-call", "while", "conditional", "call"))

    def __init__(self, module: HloModule) -> None:
        self._trips = executions(module).trip_counts
        self._traffic = Traffic()
        self._inside: dict[str, Products] = {}

    def matrix_flops(self, instruction: Instruction) -> int:
        """Operations of the matrix products in one execution."""
        return sum(self.products(instruction).values())

    def products(self, instruction: Instruction, depth: int = 0) -> Products:
        """The same by type of the operands. Of a conditional, the branch with most."""
        opcode = instruction.opcode
        if opcode not in self.MAY_MULTIPLY:
            return {}
        if opcode in OPCODES or opcode == "custom-call":
            done = work(instruction)
            return {done.dtype: done.flops} if done is not None and done.flops else {}
        inside = [self._of(callee, depth) for callee in instruction.called]
        if opcode == "conditional":
            return max(inside, key=lambda each: sum(each.values()), default={})
        rounds = self.rounds(instruction) if opcode == "while" else 1
        return {dtype: flops * rounds for dtype, flops in _added(inside).items()}

    def bytes(self, instruction: Instruction) -> Bytes:
        """What a kernel reads and writes in one execution; of a wrapper, what the wrapped instructions do."""
        if instruction.opcode in WRAPPERS:
            inside = (each for callee in instruction.called for each in callee)
            return sum((self._traffic.of(each) for each in inside), NOTHING)
        return self._traffic.of(instruction)

    def rounds(self, loop: Instruction) -> int:
        """Rounds of a loop; one where the program does not tell."""
        return self._trips.get(loop.name) or 1

    def _of(self, computation: Computation, depth: int) -> Products:
        known = self._inside.get(computation.name)
        if known is None:
            self._inside[computation.name] = {}  # computations that call each other end here
            if depth < _MAX_DEPTH:
                found = [
                    self.products(computation.instruction_at(position), depth + 1)
                    for position, opcode in enumerate(computation.opcodes())
                    if opcode in self.MAY_MULTIPLY
                ]
                known = self._inside[computation.name] = _added(found)
        return known or {}


def _added(parts: list[Products]) -> Products:
    total: Products = {}
    for part in parts:
        for dtype, flops in part.items():
            total[dtype] = total.get(dtype, 0) + flops
    return total
