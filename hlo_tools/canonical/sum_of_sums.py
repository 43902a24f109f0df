"""Sums of sums that became one sum over both axes: two rows of the partitioned program, one of the optimised one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from .explanation import Rewritten
from .pool import Entry, Pool, shares_of
from .rewrites.combined import was_combined
from .rewrites.hierarchical import was_in_steps
from .rewrites.nested import FORMULA, NAME, nested, next_sum

_MOST_TRIED = 16
"""Sums that are tried for one pair, so that a hostile program costs linear time."""


def sums_of_sums(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Explains what is left of sums of sums by what is left of sums over both axes."""
    sums = after.by(lambda entry: (entry.key.kind, entry.key.each, entry.key.dtype))
    for inner, outer in pairs(before.open()):
        if not inner.whole or not outer.whole:
            continue
        for new in islice(sums.get((inner.key.kind, inner.key.each, inner.key.dtype), ()), _MOST_TRIED):
            if new.whole and nested(inner, outer, new):
                names = [NAME]
                if was_combined(new.row) and not was_combined(outer.row):
                    names.append("combined")
                if was_in_steps(new.row):
                    names.append("hierarchical")
                amount = new.left
                both = (*shares_of([inner], amount), *shares_of([outer], amount))
                yield Rewritten(tuple(names), both, shares_of([new], amount), FORMULA)
                break


def pairs(entries: Iterator[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """A sum and the sum that alone reads it, for each that there is."""
    rows = {id(entry.row.instruction): entry for entry in entries if entry.row.instruction is not None}
    for inner in rows.values():
        assert inner.row.instruction is not None
        outer = next((rows.get(id(value)) for value in next_sum(inner.row.instruction)), None)
        if outer is not None and outer.key._replace(axes=inner.key.axes) == inner.key:
            yield inner, outer
