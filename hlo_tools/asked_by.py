"""Where a collective was asked for that the partitioner names after the value it moves.

XLA's partitioner adds collectives while it works on one instruction: a product whose operand is split, a sharding
constraint. Older ones give each the name and line of that instruction. That of jax 0.12 marks what it adds
`is_spmd_generated` and gives it the metadata of what is *moved*, that is, of the line that made the value:

    %all-gather = bf16[16,64] all-gather(%param#1), ..., frontend_attributes={is_spmd_generated="true"}
    %sharding_constraint = bf16[16,64] copy(%all-gather), metadata={op_name=".../sharding_constraint" stack_frame_id=43}

The instruction is not lost: it reads the collective, or what reads it is a slice or reshape that was added for it too
and has its metadata. Its line is taken

1. where it is a placement that the user wrote, of which XLA keeps a copy: it asked for the move and for nothing else;
2. where no line made the value: an argument, the state of a loop, or the slice that a scan hands to its body.

Everywhere else the line that made the value stands, one for all that read it. Sums are no such moves: their operand is
the partial result of the instruction they complete. Nor is a scheduled program of use, where readers are fusions of
many lines.

A collective that has no line at all (a compiler added it, or a paste lost it) stands at that of the value it moves, or
else of what reads it, looked at through other forms of the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..contracts.manifest import Frame
from .instruction import Instruction

# Primitives that only say where a value lies; the program keeps each as a copy of that name.
_PLACEMENTS = frozenset(("sharding_constraint", "reshard", "mesh_cast"))
_MOVES = frozenset(("all-gather", "all-to-all", "collective-permute"))
_MARK = "is_spmd_generated"
_FORMS = frozenset(("reshape", "bitcast", "copy", "get-tuple-element"))
_SAME_VALUE = _FORMS | {"convert", "transpose"}
_MAX_STEPS = 16


def frames_beside(collective: Instruction) -> list[Frame]:
    """The frames of the nearest maker of the value that a collective moves, or else reader of it, that has any."""
    found = _beside(collective, lambda each: bool(each.frames))
    return found.frames if found is not None else []


def scope_beside(collective: Instruction) -> str:
    """The scope of the nearest maker or reader that has one."""
    found = _beside(collective, lambda each: bool(each.op_name))
    return found.op_name if found is not None else ""


def _beside(collective: Instruction, tells: Callable[[Instruction], bool]) -> Instruction | None:
    return _first(collective, tells, lambda each: each.operands[:1]) or _first(
        collective, tells, lambda each: each.users
    )


def _first(
    at: Instruction, tells: Callable[[Instruction], bool], following: Callable[[Instruction], Sequence[Instruction]]
) -> Instruction | None:
    """Of several the first in the order of their scopes: which of them is printed first is the compiler's choice."""
    for _ in range(_MAX_STEPS):
        beside = sorted(following(at), key=lambda each: (each.op_name, each.opcode, each.source or ""))
        found = next(filter(tells, beside), None)
        if found is not None:
            return found
        same = next((each for each in beside if each.opcode in _SAME_VALUE), None)
        if same is None:
            return None
        at = same
    return None


class AskedBy:
    """Answers for the collectives of one module; each reader is looked at once."""

    __slots__ = ("_readers",)

    def __init__(self) -> None:
        self._readers: dict[int, Instruction] = {}

    def of(self, collective: Instruction) -> Instruction:
        """The instruction whose frames say where the collective was asked for: what reads it, or itself."""
        if not _is_move(collective):
            return collective
        reader = self._reader(collective)
        if reader.frames and (_is_placement(reader) or not collective.frames or _is_handed_out(collective)):
            return reader
        return collective

    def _reader(self, move: Instruction) -> Instruction:
        """What reads the last of the moves that a value makes in steps; a move where nothing does.

        Of several readers the first in program order: the partitioner moves a value once, when it first needs it.
        """
        chain: list[Instruction] = []
        at = move
        while _is_move(at) and id(at) not in self._readers:
            self._readers[id(at)] = at
            chain.append(at)
            readers = at.users
            if readers:
                at = readers[0]
        found = self._readers.get(id(at), at)
        self._readers.update((id(each), found) for each in chain)
        return found


def _is_move(instruction: Instruction) -> bool:
    """Whether the partitioner added it to move data, and gave it the metadata of its operand."""
    if instruction.opcode not in _MOVES or instruction.module.is_scheduled:
        return False
    return _MARK in instruction.attributes.get("frontend_attributes", "")


def _is_placement(reader: Instruction) -> bool:
    return reader.opcode == "copy" and reader.op_name.rpartition("/")[2] in _PLACEMENTS


def _is_handed_out(move: Instruction) -> bool:
    """Whether what is moved is a slice of something that its computation is given, as a scan takes one each round."""
    value, sliced = move, False
    for _ in range(_MAX_STEPS):
        if not value.operands:
            break
        value = value.operands[0]
        if value.opcode == "dynamic-slice":
            sliced = True
        elif value.opcode not in _FORMS and not _is_move(value):
            break
    return sliced and value.opcode == "parameter"
