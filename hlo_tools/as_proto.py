"""A module read from text in the form of its proto, for what is written against that form."""

from __future__ import annotations

from collections.abc import Iterator

from ..contracts.manifest import Frame
from .instruction import Instruction
from .module import Computation, HloModule
from .proto import ComputationProto, InstructionProto, ModuleProto
from .shape import Shape
from .text.attributes import unquote


class TextModule(ModuleProto):
    """Instructions are numbered in the order of the text; shapes and frames are read from it."""

    def __init__(self, module: HloModule) -> None:
        super().__init__(b"", name=module.name, entry_name=module.entry.name)
        self.ids: dict[int, int] = {}
        """`id(instruction)` -> its number."""
        self._instructions: dict[int, Instruction] = {}
        numbers = {computation.name: number for number, computation in enumerate(module.computations, 1)}
        for computation in module.computations:
            for instruction in _members(computation):
                number = len(self.ids) + 1
                self.ids[id(instruction)], self._instructions[number] = number, instruction
        for computation in module.computations:
            made = [self._made(instruction, numbers) for instruction in _members(computation)]
            root = self.ids.get(id(computation.root), 0)
            self.computations.append(ComputationProto(computation.name, numbers[computation.name], root, made))
        self.entry_id = numbers[module.entry.name]

    def shape(self, instruction: InstructionProto) -> Shape:
        return self._instructions[instruction.id].shape

    def frames(self, instruction: InstructionProto) -> list[Frame]:
        return self._instructions[instruction.id].frames

    def call_target(self, instruction: InstructionProto) -> str:
        return unquote(self._instructions[instruction.id].attributes.get("custom_call_target", '""'))

    def _made(self, instruction: Instruction, numbers: dict[str, int]) -> InstructionProto:
        return InstructionProto(
            name=instruction.name,
            opcode=instruction.opcode,
            id=self.ids[id(instruction)],
            extent=(0, 0),
            shape_extent=None,
            op_name=instruction.op_name,
            source=("", 0),
            stack_frame_id=0,
            parameter_number=instruction.parameter_number or 0,
            tuple_index=instruction.tuple_index or 0,
            operand_ids=[self.ids[id(operand)] for operand in instruction.operands if id(operand) in self.ids],
            called_ids=_called(instruction, numbers),
        )


def _called(instruction: Instruction, numbers: dict[str, int]) -> list[int]:
    """Numbers of the computations called; a loop names its body first, as the proto does."""
    called = instruction.called
    if instruction.opcode == "while":
        body = instruction.attributes.get("body", "").lstrip("%")
        called = sorted(called, key=lambda computation: computation.name != body)
    return [numbers[computation.name] for computation in called if computation.name in numbers]


def _members(computation: Computation) -> Iterator[Instruction]:
    """The instructions of a computation, and before each the elements of tuples that it alone spells (`%x#1`)."""
    seen: set[int] = set()
    for instruction in computation.instructions:
        waiting = [operand for operand in instruction.operands if operand.index < 0]
        spelled: list[Instruction] = []
        while waiting:
            operand = waiting.pop()
            if id(operand) not in seen:
                seen.add(id(operand))
                spelled.append(operand)
                waiting += [each for each in operand.operands if each.index < 0]
        yield from reversed(spelled)
        yield instruction
