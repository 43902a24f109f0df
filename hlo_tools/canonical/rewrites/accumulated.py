"""A sum over devices moved behind the loop that adds its results up.

The sum over microbatches (or the stacking over layers) and the sum over devices can change places: local gradients
are accumulated and reduced once (`while-loop-all-reduce-code-motion` on TPU; Li et al. 2006.15704, section 3.2.4).
Elements are divided by the trip count of an accumulating loop; a stacking loop keeps them, in fewer and larger
executions:

    executions: (m * k) -> 1,  elements of one execution: S -> k * S     m accumulated rounds, k stacked rounds

Evidence: the row stood deeper in loops before; both are sums; the sizes divide.
"""

from __future__ import annotations

from ..pool import Entry
from ..relation import Relation
from .sum_spelling import SUMS

NAME = "accumulated"
FORMULA = "m * k executions of S elements -> 1 of k * S"
_RELATION = Relation((NAME,), FORMULA)


def accumulated(old: Entry, new: Entry) -> Relation | None:
    """The relation of a sum inside a loop to one further out."""
    if old.key.kind not in SUMS or new.key.kind not in SUMS or old.key.axes != new.key.axes:
        return None
    if new.row.loop_depth >= old.row.loop_depth:
        return None
    return _RELATION if fits(old.key.each, old.row.count, new.key.each, new.row.count) else None


def fits(each: int, count: int, each_outside: int, count_outside: int) -> bool:
    """Whether `count` executions of `each` elements can be added up or stacked to those outside."""
    if not each or each_outside % each:
        return False
    return count % (count_outside * (each_outside // each)) == 0
