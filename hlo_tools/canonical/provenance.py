"""Where a value comes from and where it goes, past the instructions that only move it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..instruction import Instruction

MOVES = frozenset(("copy", "bitcast", "reshape", "convert", "transpose"))
_MAX_STEPS = 64


def value_of(instruction: Instruction) -> Instruction:
    """The instruction that made this value: copies (of the same shape) are looked through."""
    for _ in range(_MAX_STEPS):
        if instruction.opcode != "copy" or len(instruction.operands) != 1:
            break
        instruction = instruction.operands[0]
    return instruction


def summands(results: Iterable[Instruction | None]) -> Iterator[list[Instruction]]:
    """Groups of these results that are added to each other, directly, moved or sliced; groups of one are left out."""
    members = [result for result in results if result is not None]
    leader: dict[int, int] = {}

    def find(node: int) -> int:
        while leader.setdefault(node, node) != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    wanted = {id(member) for member in members}
    for member in members:
        for addition in _additions_after(member):
            leader[find(id(member))] = find(id(addition))
    groups: dict[int, list[Instruction]] = {}
    for member in members:
        if id(member) in wanted:
            groups.setdefault(find(id(member)), []).append(member)
    return (group for group in groups.values() if len(group) > 1)


def _additions_after(result: Instruction) -> Iterator[Instruction]:
    """The additions that a value runs into, through moves and through further additions, while it has one reader."""
    for value in readers(result):
        if value.opcode == "add":
            yield value
        elif not _is_cut(value) and value.opcode not in MOVES:
            return


def cut_of(result: Instruction) -> tuple[int, ...]:
    """What a value is cut by before it is added to another: results with the same cut keep the same part."""
    for value in readers(result):
        if _is_cut(value):
            return tuple(id(start) for start in value.operands[1:])
        if value.opcode not in MOVES:
            break
    return ()


def _is_cut(value: Instruction) -> bool:
    return value.opcode == "dynamic-slice"


def readers(value: Instruction) -> Iterator[Instruction]:
    """The one that reads a value, the one that reads that, and so on while there is just one."""
    for _ in range(_MAX_STEPS):
        users = value.users
        if len(users) != 1:
            return
        value = users[0]
        yield value


def is_unused(instruction: Instruction) -> bool:
    """Whether nothing reads a value but moves and tuples that nothing reads either."""
    pending, seen = [instruction], {id(instruction)}
    while pending:
        value = pending.pop()
        if value.is_root or len(seen) > _MAX_STEPS:
            return False
        for user in value.users:
            if user.opcode not in MOVES and user.opcode not in ("get-tuple-element", "tuple"):
                return False
            if id(user) not in seen:
                seen.add(id(user))
                pending.append(user)
    return True
