"""Sums over devices that are added up, done as one sum of the added operands (`all-reduce-reassociate`).

    all-reduce(a) + all-reduce(b) = all-reduce(a + b)

The input gradients of the column-parallel matrices of one block are such sums: Megatron's single operator f. TPU and
CUDA do it, CPU does not. Evidence: in the partitioned program the results, of different values, meet in additions,
moves aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import distinct, removed
from ..explanation import Rewritten
from ..pool import Entry, Pool
from ..provenance import summands


def reassociated(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of sums that are added to another one of the same key."""
    keys = {entry.key for entry in before.open() if entry.key.kind == "all-reduce"}
    entries = {id(e.row.instruction): e for e in distinct(before) if e.key in keys and e.row.instruction is not None}
    spare: list[Entry] = []
    for group in summands(entry.row.instruction for entry in entries.values()):
        seen = set()
        for member in (entries[id(instruction)] for instruction in group):
            if member.key in seen:
                spare.append(member)
            seen.add(member.key)
    return removed(before, spare, "reassociated", "k sums that are added -> 1")
