"""Sums over devices that are added up, done as one sum of the added operands (`all-reduce-reassociate`).

    all-reduce(a) + all-reduce(b) = all-reduce(a + b)

The input gradients of the column-parallel matrices of one block are such sums: Megatron's single operator f. TPU and
CUDA do it, CPU does not. Evidence: in the partitioned program the results meet in additions, element-wise operations
that keep the value aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..explanation import Rewritten
from ..pool import Entry, Key, Pool
from ..provenance import summands
from .duplicate import removed

FORMULA = "k sums that are added -> 1"


def reassociated(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of sums that are added to another one."""
    by_instruction: dict[int, Entry] = {
        id(entry.row.instruction): entry for entry in before.entries if entry.row.instruction is not None
    }
    spare: dict[Key, int] = {}
    open_keys = {entry.key for entry in before.open() if entry.key.kind == "all-reduce"}
    for group in summands(
        by_instruction[i].row.instruction for i in by_instruction if by_instruction[i].key in open_keys
    ):
        members = [by_instruction[id(instruction)] for instruction in group if id(instruction) in by_instruction]
        for key in {member.key for member in members}:
            same = [member for member in members if member.key == key]
            spare[key] = spare.get(key, 0) + sum(member.row.count for member in same[1:])
    yield from removed(before, spare, "reassociated", FORMULA)
