"""Who fills a buffer that is only set aside: the stacked results of a loop have their memory before the loop runs.

TPU programs allocate it (`AllocateBuffer`), others fill it with a constant. Neither says what it is for; the update in
the loop's body that writes into it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .proto import InstructionProto, ModuleProto

_HANDS_ON = frozenset(("bitcast", "copy", "get-tuple-element", "optimization-barrier"))
_MAX_STEPS = 16

Users = Callable[[InstructionProto], Iterable[InstructionProto]]


@dataclass(frozen=True, slots=True)
class Filling:
    """What a loop writes into a buffer, one part an iteration.

    `written` is the instruction that makes the value, or the write itself where that one has no source; `loop` the id
    of the loop. `is_state` says that the value is what the loop hands from one iteration to the next, as it is.
    """

    written: InstructionProto
    loop: int
    parts: int
    is_state: bool


def filling(
    module: ModuleProto, made: InstructionProto, users: Users, shape_index: tuple[int, ...] = ()
) -> Filling | None:
    """How a loop fills the buffer at a shape index of `made`; None where no loop writes into it."""
    for holder, carried in _tuples_of(made, shape_index, users):
        positions = [at for at, identity in enumerate(carried.operand_ids) if identity == holder.id]
        for loop in users(carried):
            if loop.opcode != "while" or not loop.called_ids:
                continue
            for position in positions:
                found = _written(module, loop, position)
                if found is not None:
                    return found
    return None


def _tuples_of(
    made: InstructionProto, shape_index: tuple[int, ...], users: Users
) -> Iterator[tuple[InstructionProto, InstructionProto]]:
    """Each tuple that the buffer becomes an element of, with the instruction that is that element."""
    pending = [(made, shape_index)]
    for at, index in pending:
        for user in users(at):
            if user.opcode == "tuple" and not index:
                yield at, user
            elif len(pending) < _MAX_STEPS and user.opcode in _HANDS_ON:
                if user.opcode != "get-tuple-element":
                    pending.append((user, index))
                elif index[:1] == (user.tuple_index,):
                    pending.append((user, index[1:]))


def _written(module: ModuleProto, loop: InstructionProto, position: int) -> Filling | None:
    """The value that the body's result at a position of the carried tuple is updated with."""
    body = module.computation_by_id.get(loop.called_ids[0])
    update, fusion = _descend(module, module.instruction_by_id.get(body.root_id) if body else None, [position])
    if update is None or update.opcode != "dynamic-update-slice" or len(update.operand_ids) < 2:
        return None
    value = module.instruction_by_id.get(update.operand_ids[1])
    part = module.shape(value).elements if value is not None else 0
    parts = module.shape(update).elements // part if part else 1
    is_state = False
    for _ in range(_MAX_STEPS):
        value, inner = _descend(module, value, [])
        if value is None or value.opcode != "parameter":
            break
        if fusion is None:
            is_state = True
            break
        if value.parameter_number >= len(fusion.operand_ids):
            break
        value, fusion = module.instruction_by_id.get(fusion.operand_ids[value.parameter_number]), inner
    known = value is not None and value.opcode != "parameter" and module.frames(value)
    return Filling(value if value is not None and known else update, loop.id, parts, is_state)


def _descend(
    module: ModuleProto, at: InstructionProto | None, index: list[int]
) -> tuple[InstructionProto | None, InstructionProto | None]:
    """The instruction that computes a value, behind copies and inside fusions, and the innermost fusion it is in."""
    fusion = None
    for _ in range(_MAX_STEPS):
        if at is None:
            break
        if at.opcode == "tuple" and index and index[0] < len(at.operand_ids):
            at = module.instruction_by_id.get(at.operand_ids[index.pop(0)])
        elif at.opcode in ("fusion", "call") and at.called_ids:
            callee = module.computation_by_id.get(at.called_ids[0])
            fusion, at = at, module.instruction_by_id.get(callee.root_id) if callee else None
        elif at.opcode in _HANDS_ON and at.operand_ids:
            if at.opcode == "get-tuple-element":
                index.insert(0, at.tuple_index)
            at = module.instruction_by_id.get(at.operand_ids[0])
        else:
            break
    return at, fusion
