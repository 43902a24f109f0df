"""The dataflow of a program as if its fusions were not there: what makes a value, and who reads it.

Fusions, calls, asynchronous wrappers, tuples, barriers and the `-done` of a pair only frame the work. Here a reader of
a fusion's operand is the instruction inside that reads its parameter, and what makes a fusion's result is its root.
Loops and conditionals are not looked through: a value ends there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .instruction import Instruction
from .module import Computation, HloModule

WRAPPERS = ("async-start", "call-start", "fusion-start")
"""What runs a computation beside the rest until its `-done` (TPU's SparseCore runs collectives in a `call-start`)."""
FRAMES = frozenset(("fusion", "call", *WRAPPERS))
_HANDED_ON = frozenset(("async-update", "async-done"))
_PAIRS = ("-done", "-update")
_MAX_STEPS = 256
# A tuple of more readers than this is a program's state, not a value that is looked at.
_MAX_SEEN = 4096


@dataclass(frozen=True, slots=True)
class Value:
    """An instruction, and the fusions, calls and wrappers it is seen in, outermost first."""

    instruction: Instruction
    around: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """One use: the reading instruction, and the operand by which it reads. Without a user the value leaves its
    computation."""

    user: Value | None
    seen: Instruction


class Flow:
    """Answers for one module; what it finds out about a computation is kept."""

    __slots__ = ("_callers", "_module", "_parameters")

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._callers: dict[str, Instruction | None] | None = None
        self._parameters: dict[str, dict[int, Instruction]] = {}

    def at(self, instruction: Instruction) -> Value:
        """The value with all that frames it, as far as one instruction alone calls each computation around it."""
        around: list[Instruction] = []
        computation = instruction.computation
        while len(around) < _MAX_STEPS:
            caller = self._caller(computation)
            if caller is None:
                break
            around.append(caller)
            computation = caller.computation
        return Value(instruction, tuple(reversed(around)))

    def maker(self, value: Value) -> Value:
        """What makes a value: frames are entered and left, tuples and pairs looked through."""
        for _ in range(_MAX_STEPS):
            before = self._before(value)
            if before is None:
                return value
            value = before
        return value

    def operands(self, value: Value) -> list[Value]:
        """What makes each operand."""
        return [self.maker(Value(operand, value.around)) for operand in value.instruction.operands]

    def readers(self, value: Value) -> Iterator[Reader]:
        """All uses, in no particular order; of too many the rest counts as leaving the computation."""
        pending = [value]
        known = {value}
        while pending:
            at = pending.pop()
            if len(known) > _MAX_SEEN:
                yield Reader(None, at.instruction)
                return
            for onward in self._onward(at):
                if isinstance(onward, Reader):
                    yield onward
                elif onward not in known:
                    known.add(onward)
                    pending.append(onward)

    def given(self, value: Value) -> dict[int, Instruction]:
        """What the parameters of the frames around a value stand for, by the identity of the parameter."""
        found: dict[int, Instruction] = {}
        for caller in value.around:
            for number, parameter in self.parameters(caller.called[0]).items():
                if number < len(caller.operands):
                    found[id(parameter)] = caller.operands[number]
        return found

    def parameters(self, computation: Computation) -> dict[int, Instruction]:
        """The parameters of a computation by number."""
        known = self._parameters.get(computation.name)
        if known is None:
            known = self._parameters[computation.name] = {
                instruction.parameter_number or 0: instruction for instruction in computation.parameters
            }
        return known

    def _caller(self, computation: Computation) -> Instruction | None:
        if self._callers is None:
            callers: dict[str, Instruction | None] = {}
            for each in self._module.computations:
                for position, opcode in enumerate(each.opcodes()):
                    if opcode in FRAMES:
                        caller = each.instruction_at(position)
                        for callee in caller.called[:1]:
                            callers[callee.name] = None if callee.name in callers else caller
            self._callers = callers
        return self._callers.get(computation.name)

    def _before(self, value: Value) -> Value | None:
        if value.instruction.opcode == "get-tuple-element" and value.instruction.operands:
            return self._element(value)
        return self._framed(value)

    def _framed(self, value: Value) -> Value | None:
        """One step into or out of a frame, or from the end of a pair to its start; None for anything else."""
        instruction, around = value.instruction, value.around
        opcode = instruction.opcode
        if opcode in FRAMES and instruction.called and len(around) < _MAX_STEPS:
            return Value(instruction.called[0].root, (*around, instruction))
        if opcode == "parameter" and around:
            number = instruction.parameter_number or 0
            return Value(around[-1].operands[number], around[:-1]) if number < len(around[-1].operands) else None
        if opcode.endswith(_PAIRS) and instruction.operands:
            return Value(instruction.operands[0], around)
        return None

    def _element(self, value: Value) -> Value | None:
        """What makes the element that a get-tuple-element takes; None where that is a loop, a parameter or the like."""
        wanted: list[int] = []
        source: Value | None = value
        for _ in range(_MAX_STEPS):
            if source is None:
                return None
            made, around = source.instruction, source.around
            if made.opcode == "get-tuple-element" and made.operands:
                wanted.append(made.tuple_index or 0)
                source = Value(made.operands[0], around)
            elif made.opcode == "tuple":
                index = wanted.pop()
                if index >= len(made.operands):
                    return None
                source = Value(made.operands[index], around)
                if not wanted:
                    return source
            elif made.opcode == "opt-barrier" and len(made.operands) == 1:
                source = Value(made.operands[0], around)
            else:
                source = self._framed(source)
        return None

    def _onward(self, value: Value) -> Iterator[Value | Reader]:
        instruction, around = value.instruction, value.around
        for user in instruction.users:
            opcode = user.opcode
            if opcode in FRAMES and user.called:
                parameters = self.parameters(user.called[0])
                for number, operand in enumerate(user.operands):
                    if operand is instruction and number in parameters:
                        yield Value(parameters[number], (*around, user))
            elif opcode == "tuple":
                for number, operand in enumerate(user.operands):
                    if operand is instruction:
                        yield from self._out_of_tuple(Value(user, around), number)
            elif opcode in ("get-tuple-element", *_HANDED_ON) or opcode.endswith(_PAIRS):
                yield Value(user, around)
            else:
                yield Reader(Value(user, around), instruction)
        if instruction.is_root:
            if around:
                yield Value(around[-1], around[:-1])
            else:
                yield Reader(None, instruction)

    def _out_of_tuple(self, made: Value, number: int) -> Iterator[Value | Reader]:
        """Where one element of a tuple goes."""
        pending = [made]
        for _ in range(_MAX_STEPS):
            if not pending:
                return
            holder = pending.pop()
            instruction, around = holder.instruction, holder.around
            for user in instruction.users:
                if user.opcode == "get-tuple-element":
                    if user.tuple_index == number:
                        yield Value(user, around)
                elif user.opcode in ("opt-barrier", *_HANDED_ON):
                    pending.append(Value(user, around))
                else:
                    yield Reader(Value(user, around), instruction)
            if instruction.is_root:
                if around:
                    pending.append(Value(around[-1], around[:-1]))
                else:
                    yield Reader(None, instruction)
