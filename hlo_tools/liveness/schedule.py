"""The order in which a program's instructions run: the instructions of a loop, branch or call before its caller.

It is the order of XLA's HloLiveRange, in which each computation stands once.
"""

from __future__ import annotations

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..module import Computation, HloModule

INLINE = frozenset(("while", "conditional", "call", "async-start"))
"""What runs the computations it calls where it stands; everything else fuses them or keeps them to one thread."""


class Schedule:
    """Instructions in order, and where each computation lies in it.

    `position` is by `id(instruction)`, `spans` and `callers` by computation name: first and last position, and the
    instruction that runs it. `computations` are those that have a place in it, the entry last.
    """

    __slots__ = ("callers", "computations", "order", "position", "spans")

    def __init__(self, module: HloModule) -> None:
        self.order: list[Instruction] = []
        self.computations: list[Computation] = []
        self.position: dict[int, int] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.callers: dict[str, Instruction] = {}
        self._run(module.entry)

    @property
    def last(self) -> int:
        return max(len(self.order) - 1, 0)

    def post_order(self) -> dict[int, int]:
        """`id(instruction)` -> its place where operands stand before their users, found from the results back.

        Callers come before what they call.
        """
        found: dict[int, int] = {}
        for computation in reversed(self.computations):
            for instruction in computation.instructions:
                if not instruction.users:
                    _with_operands(instruction, found)
        return found

    def _run(self, entry: Computation) -> None:
        starts = {entry.name: 0}
        stack = [(entry, 0)]
        while stack:
            computation, at = stack.pop()
            instructions = computation.instructions
            while at < len(instructions):
                instruction = instructions[at]
                runs = _runs(instruction)
                if any(each.name in starts and each.name not in self.spans for each in runs):
                    message = f"instruction {instruction.name!r}: computations call each other in a circle"
                    raise ContractLintError(message, instruction.location)
                callee = next((each for each in runs if each.name not in starts), None)
                if callee is not None:
                    self.callers[callee.name] = instruction
                    starts[callee.name] = len(self.order)
                    stack += [(computation, at), (callee, 0)]
                    break
                self.position[id(instruction)] = len(self.order)
                self.order.append(instruction)
                at += 1
            else:
                self.computations.append(computation)
                self.spans[computation.name] = starts[computation.name], max(len(self.order) - 1, 0)


def condition_and_body(loop: Instruction) -> tuple[Computation, Computation] | None:
    """The two computations of a `while`; None where the text leaves one out."""
    by_name = {called.name: called for called in loop.called}
    condition = by_name.get(loop.attributes.get("condition", "").lstrip("%"))
    body = by_name.get(loop.attributes.get("body", "").lstrip("%"))
    return None if condition is None or body is None else (condition, body)


def _runs(instruction: Instruction) -> tuple[Computation, ...]:
    """The computations that an instruction runs, in order."""
    if instruction.opcode == "while":
        return condition_and_body(instruction) or ()
    return instruction.called if instruction.opcode in INLINE else ()


def _with_operands(result: Instruction, found: dict[int, int]) -> None:
    """Numbers an instruction behind everything that it reads."""
    stack = [(result, 0)]
    while stack:
        instruction, at = stack.pop()
        if id(instruction) in found:
            continue
        operands = instruction.operands
        while at < len(operands) and id(operands[at]) in found:
            at += 1
        if at < len(operands):
            stack += [(instruction, at + 1), (operands[at], 0)]
        else:
            found[id(instruction)] = len(found)
