"""Sums over two axes that became one sum over each: one row of the partitioned program, two of the optimised one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from .explanation import Rewritten
from .pool import Entry, Pool, shares_of
from .rewrites.combined import was_combined
from .rewrites.scattered import FORMULA, NAME, scattered

_MOST_TRIED = 16
"""Partners of each kind that are tried for one row, so that a hostile program costs linear time."""

Sums = dict[tuple[str, int, str], list[Entry]]
"""What is left of the optimised program, by kind, elements of one execution and dtype."""


def in_two_steps(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Explains what is left of sums by what is left of scatters and sums."""
    sums: Sums = after.by(lambda entry: (entry.key.kind, entry.key.each, entry.key.dtype))
    for old in before.open():
        for inner, outer in _partners(old, sums):
            amount = min(old.left, inner.left, outer.left)
            if amount and scattered(old, inner, outer):
                combined = was_combined(inner.row) and not was_combined(old.row)
                names = (NAME, "combined") if combined else (NAME,)
                both = (*shares_of([inner], amount), *shares_of([outer], amount))
                yield Rewritten(names, shares_of([old], amount), both, FORMULA)


def _partners(old: Entry, sums: Sums) -> Iterator[tuple[Entry, Entry]]:
    key = old.key
    for inner in islice(sums.get(("reduce-scatter", key.each, key.dtype), ()), _MOST_TRIED):
        each, rest = divmod(key.each, inner.row.group_size)
        if not rest:
            yield from product([inner], islice(sums.get(("all-reduce", each, key.dtype), ()), _MOST_TRIED))
