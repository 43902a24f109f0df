"""Whether a value may differ between the devices of a group: what it is made of, followed back to where it differs.

A value differs where it comes from the device's own number, or from an argument of which the devices hold different
parts. A sum or gather over all of the group makes it the same again. What cannot be told - random numbers, calls of
others' code, arguments without a placement - counts as the same: nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...hlo_tools.flow import FRAMES, Flow
from ...hlo_tools.instruction import Instruction
from ...hlo_tools.module import HloModule
from ...hlo_tools.participants import participants
from ...hlo_tools.partition_values import NotConstant, NotPrinted, values_on
from ...hlo_tools.replica_groups import Groups
from ...hlo_tools.tile_groups import same_part
from ...hlo_tools.transfers import KINDS

_NUMBERS = frozenset(("partition-id", "replica-id"))
_UNKNOWN = frozenset(
    ("infeed", "recv", "recv-done", "rng", "custom-call", "undefined", "domain", "rng-get-and-update-state", "map")
)
_LEVELS = frozenset(("all-reduce", "all-gather", "all-reduce-start", "all-gather-start", "collective-broadcast"))
_HANDED_ON = frozenset(("opt-barrier", "async-done", "async-update", "copy", "copy-start", "copy-done"))
_MAX_VISITED = 20_000
# Groups on which a device number is worked out: enough to see a difference.
_MAX_GROUPS = 64

Node = tuple[Instruction, int | None]
"""A value, or one element of a tuple."""


class Varying:
    """Answers for one module."""

    def __init__(self, module: HloModule, devices: int, flow: Flow) -> None:
        self._module = module
        self._devices = devices
        self._flow = flow
        self._callers: dict[str, list[Instruction]] = {}
        for computation in module.computations:
            for position, opcode in enumerate(computation.opcodes()):
                if opcode in ("while", "conditional", *FRAMES):
                    caller = computation.instruction_at(position)
                    for callee in caller.called:
                        self._callers.setdefault(callee.name, []).append(caller)

    def cause(self, value: Instruction, groups: Groups) -> Instruction | None:
        """Where the difference between devices of one of `groups` comes from; None where there is none to be seen."""
        pending: list[Node] = [(value, None)]
        seen: set[tuple[int, int | None]] = set()
        while pending:
            instruction, element = pending.pop()
            if (id(instruction), element) in seen:
                continue
            seen.add((id(instruction), element))
            if len(seen) > _MAX_VISITED:
                return None
            opcode = instruction.opcode
            if opcode in _NUMBERS:
                return instruction
            if opcode in _UNKNOWN or self._is_known_alike(instruction, groups):
                continue
            if opcode in KINDS and not opcode.startswith("send"):
                who = self._members(instruction)
                if opcode in _LEVELS:
                    if all(any(set(group) <= set(each) for each in who) for group in groups):
                        continue
                elif any(len(set(group) & set(each)) > 1 for group in groups for each in who):
                    return instruction
            if opcode == "parameter" and not self._callers.get(instruction.computation.name):
                if self._differs(instruction, groups):
                    return instruction
                continue
            pending.extend(self._sources(instruction, element))
        return None

    def _members(self, collective: Instruction) -> list[tuple[int, ...]]:
        return list(participants(collective, self._module, self._devices).groups)

    def _differs(self, argument: Instruction, groups: Groups) -> bool:
        """Whether devices of a group hold different parts of an argument of the program."""
        placement = argument.attributes.get("sharding", "")
        if argument.computation is not self._module.entry or argument.shape.is_tuple:
            return False
        alike = same_part(placement, self._devices)
        if alike is None:
            return False
        part = {device: number for number, each in enumerate(alike) for device in each}
        return any(len({part.get(device) for device in group}) > 1 for group in groups)

    def _is_known_alike(self, instruction: Instruction, groups: Groups) -> bool:
        """Whether an integer that follows from the device's number is the same for all of each group: an index along
        another axis of the mesh."""
        if instruction.shape.elements != 1 or instruction.shape.is_tuple or instruction.shape.dtype[:1] not in "su":
            return False
        try:
            given = self._flow.given(self._flow.at(instruction))
            for group in groups[:_MAX_GROUPS]:
                if len(set(values_on(instruction, group, given))) > 1:
                    return False
        except (NotConstant, NotPrinted, IndexError):
            return False
        return len(groups) <= _MAX_GROUPS

    def _sources(self, instruction: Instruction, element: int | None) -> Iterator[Node]:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "tuple" and element is not None:
            if element < len(operands):
                yield operands[element], None
        elif opcode == "get-tuple-element" and operands:
            yield operands[0], instruction.tuple_index
        elif opcode in _HANDED_ON and len(operands) == 1:
            yield operands[0], element
        elif opcode == "parameter":
            for caller in self._callers.get(instruction.computation.name, ()):
                yield from _arguments(caller, instruction, element)
        elif opcode == "while" and len(instruction.called) == 2 and operands:
            yield operands[0], element
            yield instruction.called[0].root, element
            yield instruction.called[1].root, None
        elif opcode == "conditional" and operands:
            yield operands[0], None
            for branch in instruction.called:
                yield branch.root, element
        elif opcode in FRAMES and instruction.called:
            yield instruction.called[0].root, element
        else:
            for operand in operands:
                yield operand, None


def _arguments(caller: Instruction, parameter: Instruction, element: int | None) -> Iterator[Node]:
    """What a computation is given for a parameter."""
    operands = caller.operands
    if caller.opcode == "while" and operands and caller.called:
        yield operands[0], element
        yield caller.called[0].root, element
    elif caller.opcode == "conditional":
        for number, branch in enumerate(caller.called):
            if branch is parameter.computation and number + 1 < len(operands):
                yield operands[number + 1], element
    else:
        number = parameter.parameter_number or 0
        if number < len(operands):
            yield operands[number], element
