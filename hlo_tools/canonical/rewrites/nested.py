"""A sum over one axis of a sum over another, done as one sum over both (`all-reduce-folder`).

    all-reduce over outer (all-reduce over inner)  =  all-reduce over (outer, inner)

Elements of one execution stay, and two executions become one. Evidence: in the partitioned program nothing but the
second sum reads the first, moves aside; the groups of the one sum are grids of those of the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...instruction import Instruction
from ..grid import are_factors
from ..pool import Entry
from ..provenance import MOVES, readers

NAME = "nested"
FORMULA = "n elements over each axis in turn -> n over both"
_ALL_REDUCE = "all-reduce"


def nested(inner: Entry, outer: Entry, new: Entry) -> bool:
    """Whether a sum `outer` that reads a sum `inner` may have become the sum `new`."""
    kinds = {inner.key.kind, outer.key.kind, new.key.kind}
    same = {(entry.key.each, entry.key.dtype, entry.row.count) for entry in (inner, outer, new)}
    return kinds == {_ALL_REDUCE} and len(same) == 1 and are_factors(new.row, inner.row, outer.row)


def next_sum(first: Instruction) -> Iterator[Instruction]:
    """The sum that alone reads another one's result, moves aside, if there is one."""
    for value in readers(first):
        if value.opcode == _ALL_REDUCE and len(value.operands) == 1:
            yield value
        if value.opcode not in MOVES:
            return
