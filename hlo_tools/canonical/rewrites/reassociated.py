"""Sums over devices that are added up, done as one sum of the added operands (`all-reduce-reassociate`).

    all-reduce(a) + all-reduce(b) = all-reduce(a + b)

The input gradients of the column-parallel matrices of one block are such sums: Megatron's single operator f. TPU and
CUDA do it, CPU does not. Evidence: in the partitioned program the results, of different values, meet in additions,
moves aside; where each device keeps a part of them (sequence parallelism), it is the same part.
"""

from __future__ import annotations

from ..drop import Drop
from ..evidence import distinct
from ..pool import Entry, Pool
from ..provenance import cut_of, summands
from .sum_spelling import SUMS


def reassociated(before: Pool) -> Drop:
    """All but one of the sums of one key that are added up."""
    sums = (entry for entry in distinct(before) if entry.key.kind in SUMS)
    entries = {id(entry.row.instruction): entry for entry in sums if entry.row.instruction is not None}
    spare: list[Entry] = []
    for group in summands(entry.row.instruction for entry in entries.values()):
        seen = set()
        for instruction in group:
            member = entries[id(instruction)]
            mark = member.key, cut_of(instruction)
            if mark in seen:
                spare.append(member)
            seen.add(mark)
    return Drop.of("reassociated", "k sums that are added -> 1", spare)
