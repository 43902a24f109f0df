"""The instruction that the partitioner moves data for, where the collective itself does not say.

XLA's partitioner adds collectives while it works on one instruction: a product whose operand is split, a sharding
constraint. Older ones give each the name and line of that instruction. That of jax 0.12 marks what it adds
`is_spmd_generated` and gives it the metadata of what is *moved*: the line that made the value, and none for an argument
or a value that a loop carries:

    %all-gather = bf16[16,64] all-gather(%param#1), ..., frontend_attributes={is_spmd_generated="true"}
    %sharding_constraint = bf16[16,64] copy(%all-gather), metadata={op_name=".../sharding_constraint" stack_frame_id=43}

The instruction is not lost: it reads the collective, or what reads it is a slice or reshape that was added for it too
and has its metadata. Sums are no such moves: their operand is the partial result of the instruction they complete. Nor
is a scheduled program of use, where readers are fusions of many lines.
"""

from __future__ import annotations

from .instruction import Instruction

_MOVES = frozenset(("all-gather", "all-to-all", "collective-permute"))
_MARK = "is_spmd_generated"


class AskedBy:
    """Answers for the collectives of one module; each reader is looked at once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, Instruction] = {}

    def of(self, collective: Instruction) -> Instruction:
        """The instruction whose frames say where the collective was asked for; itself where no other tells.

        Of several readers the first in program order: the partitioner moves a value once, when it first needs it.
        """
        chain: list[Instruction] = []
        at = collective
        while _is_move(at) and id(at) not in self._known:
            self._known[id(at)] = at
            chain.append(at)
            readers = at.users
            if readers:
                at = readers[0]
        found = self._known.get(id(at), at)
        for move in chain:
            self._known[id(move)] = move if _is_move(found) or not found.frames else found
        return self._known.get(id(collective), collective)


def _is_move(instruction: Instruction) -> bool:
    """Whether the partitioner added it to move data, and gave it the metadata of its operand."""
    if instruction.opcode not in _MOVES or instruction.module.is_scheduled:
        return False
    return _MARK in instruction.attributes.get("frontend_attributes", "")
