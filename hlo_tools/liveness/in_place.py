"""Results that are always written over an operand: XLA gives both one memory, and copies what is still read elsewhere.

XLA's rules (hlo/analysis/alias_info): updates of a slice, scatters and started sums over devices change their operand;
so does a fusion that makes nothing but views of such a result out of a parameter; others say so themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..backend import Backend
from ..instruction import Instruction
from .values import Index, leaves

_ALIAS = re.compile(r"\{([\d, ]*)\}\s*:\s*\((\d{1,9}),\s*\{([\d, ]*)\}")
_SAYS_SO = frozenset(("fusion", "custom-call", "async-start"))
_MAX_STEPS = 10_000
_MAX_NESTED = 16

Pair = tuple[Index, int, Index]
"""Index in the result, number of the operand, index in it."""


def aliases(text: str) -> Iterator[Pair]:
    """The pairs of `{1}: (0, {}, may-alias)`."""
    for result, number, index in _ALIAS.findall(text):
        yield _index(result), int(number), _index(index)


class InPlace:
    """The results of one program's instructions that lie where operands lay; each instruction is looked at once."""

    def __init__(self, backend: Backend) -> None:
        self._views = ("bitcast", "reshape") if backend == "gpu" else ("bitcast",)
        self._known: dict[int, list[Pair]] = {}

    def of(self, instruction: Instruction) -> Iterator[Pair]:
        """The parts of a result that are written over parts of operands."""
        if instruction.opcode in _SAYS_SO:
            yield from aliases(instruction.attributes.get("output_to_operand_aliasing", ""))
        yield from self._changed(instruction, 0)

    def _changed(self, instruction: Instruction, depth: int) -> list[Pair]:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "dynamic-update-slice":
            return [((), 0, ())]
        if opcode in ("scatter", "all-reduce-start"):
            changed = len(operands) if opcode != "scatter" else max((len(operands) - 1) // 2, 1)
            return [((), 0, ())] if changed == 1 else [((number,), number, ()) for number in range(changed)]
        if opcode == "ragged-all-to-all" or (opcode == "collective-permute" and len(operands) == 4):
            return [((), 1, ())]
        if opcode != "fusion" or not instruction.called or depth >= _MAX_NESTED:
            return []
        if id(instruction) not in self._known:
            root = instruction.called[0].root
            found = ((tuple(index), self._parameter(root, tuple(index), depth)) for index, _ in leaves(root.shape))
            self._known[id(instruction)] = [(index, *given) for index, given in found if given is not None]
        return self._known[id(instruction)]

    def _parameter(self, root: Instruction, index: Index, depth: int) -> tuple[int, Index] | None:
        """Number of the parameter that this part of a fusion's result changes, and the index in it."""
        made, at = self._source(root, index)
        for result, number, inside in self._changed(made, depth + 1):
            if result != at or number >= len(made.operands):
                continue
            given, within = self._source(made.operands[number], inside)
            if given.opcode == "fusion":
                nested = [pair for pair in self._changed(given, depth + 1) if pair[0] == within]
                if nested and nested[0][1] < len(given.operands):
                    given, within = self._source(given.operands[nested[0][1]], nested[0][2])
            if given.opcode == "parameter" and given.parameter_number is not None:
                return given.parameter_number, within
        return None

    def _source(self, instruction: Instruction, index: Index) -> tuple[Instruction, Index]:
        """What makes this part of a value, looked at through tuples, their elements and views of one memory."""
        for _ in range(_MAX_STEPS):
            opcode, operands = instruction.opcode, instruction.operands
            if opcode == "tuple" and index and index[0] < len(operands):
                instruction, index = operands[index[0]], index[1:]
            elif opcode == "get-tuple-element" and operands:
                instruction, index = operands[0], (instruction.tuple_index or 0, *index)
            elif opcode in self._views and operands and not index:
                instruction = operands[0]
            else:
                break
        return instruction, index


def _index(text: str) -> Index:
    return tuple(int(part) for part in text.split(",") if part.strip())
