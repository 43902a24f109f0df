"""A sum over two axes of which every device keeps a part along one, done there as a reduce-scatter first.

    all-reduce over (outer, inner), sliced over inner  =  reduce-scatter over inner, all-reduce of 1/n over outer

The second sum then moves 1/n of the elements (`reduce-scatter-creator` on CUDA). Evidence: in the partitioned program
all uses are slices of 1/n that differ within a group of the first and agree within one of the second.
"""

from __future__ import annotations

from ...flow import Flow
from ...only_sliced import is_only_sliced
from ...replica_groups import Groups
from ..combined import part_number
from ..grid import are_factors
from ..pool import Entry

NAME = "scattered"
FORMULA = "n elements over both axes -> n over the one, n / its size over the other"


def scattered(old: Entry, inner: Entry, outer: Entry) -> bool:
    """Whether a sum may have become a reduce-scatter `inner` and an all-reduce `outer` of what that leaves, alone or
    with more; how many elements that are is the caller's to count."""
    row = old.row
    if (old.key.kind, inner.key.kind, outer.key.kind) != ("all-reduce", "reduce-scatter", "all-reduce"):
        return False
    if inner.key.each != old.key.each:
        return False
    if row.instruction is None or not are_factors(row, inner.row, outer.row):
        return False
    pairs = zip(row.groups, row.own_groups or row.groups, strict=True)
    own = {device: mine for group, numbers in pairs for device, mine in zip(group, numbers, strict=True)}

    def numbered(groups: Groups) -> Groups:
        return tuple(tuple(own[device] for device in group) for group in groups)

    scatter = numbered(inner.row.groups), inner.row.group_size, part_number(row), numbered(outer.row.groups)
    return is_only_sliced(Flow(row.instruction.computation.module), row.instruction, *scatter, inside=True)
