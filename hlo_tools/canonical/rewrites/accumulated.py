"""A sum over devices moved behind the loop that adds its results up.

The sum over microbatches (or the stacking over layers) and the sum over devices can change places: local gradients
are accumulated and reduced once (`while-loop-all-reduce-code-motion` on TPU; Li et al. 2006.15704, section 3.2.4).
Elements are divided by the trip count of an accumulating loop; a stacking loop keeps them, in fewer and larger
executions:

    executions: (m * k) -> 1,  elements of one execution: S -> k * S     m accumulated rounds, k stacked rounds

Evidence: the row stood deeper in loops before; both are sums; the sizes divide.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..explanation import Rewritten
from ..pool import MAX_CANDIDATES, Entry, Pool, shares_of
from .sum_spelling import SUMS

FORMULA = "m * k executions of S elements -> 1 of k * S"


def accumulated(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Pairs one sum inside a loop with one further out, the largest first so that stacked arrays find their own."""
    outside = after.by(lambda entry: (entry.key.kind in SUMS, entry.key.axes))
    inside = before.by(lambda entry: (entry.key.kind in SUMS, entry.key.axes))
    for group, olds in inside.items():
        if not group[0]:
            continue
        sizes: dict[int, list[Entry]] = {}
        for old in olds:
            if old.row.loop_depth:
                sizes.setdefault(old.key.each, []).append(old)
        for new in sorted(outside.get(group, ()), key=lambda entry: -entry.key.each):
            old = _origin(sizes, new)
            if old is not None:
                yield Rewritten(("accumulated",), shares_of([old], old.left), shares_of([new], new.left), FORMULA)


def _origin(sizes: dict[int, list[Entry]], new: Entry) -> Entry | None:
    """The row whose executions, summed or stacked, give this one; same place in the source first, then same size."""
    fitting = (old for each, olds in sizes.items() if new.key.each % each == 0 for old in olds)
    candidates = [
        old
        for old in islice(fitting, MAX_CANDIDATES)
        if old.left
        and new.left
        and new.row.loop_depth < old.row.loop_depth
        and old.left % (new.left * (new.key.each // old.key.each)) == 0
    ]
    return min(candidates, key=lambda old: (old.row.scope != new.row.scope, -old.key.each), default=None)
