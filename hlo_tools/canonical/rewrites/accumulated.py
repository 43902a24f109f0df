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

FORMULA = "m * k executions of S elements -> 1 of k * S"
_RELATION = Relation(("accumulated",), FORMULA)


def accumulated(old: Entry, new: Entry) -> Relation | None:
    """The relation of a sum inside a loop to one further out."""
    if old.key.kind not in SUMS or new.key.kind not in SUMS or old.key.axes != new.key.axes:
        return None
    if new.row.loop_depth >= old.row.loop_depth or not old.key.each or new.key.each % old.key.each:
        return None
    stacked = new.key.each // old.key.each
    if old.row.count % (new.row.count * stacked):
        return None
    return _RELATION
