"""A collective of a value that is the same in every round of a loop, done once before it.

Parameters do not change while microbatches are accumulated, so a gather of a parameter that stands in the loop over
microbatches gives the same array each time; loop-invariant code motion (`while-loop-invariant-code-motion`) moves it
out. Elements and executions are divided by the trip counts of the loops it leaves. Memory grows: the gathered array
lives through the loop.

Evidence: the row stood deeper in loops before, and its operand does not depend on what the loop changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..explanation import Rewritten
from ..invariance import is_loop_invariant
from ..pool import MAX_CANDIDATES, Entry, Pool, shares_of
from .gather_as_sum import GATHER_AS_SUM
from .widened import WIDENED

FORMULA = "executions and elements / trips of the loops left"


def hoisted(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Pairs one row inside a loop with one row further out."""

    def group(entry: Entry) -> object:
        return GATHER_AS_SUM.ignore(WIDENED.ignore(entry.key))

    outside = after.by(group)
    for key, inside in before.by(group).items():
        partners = outside.get(key, [])[:MAX_CANDIDATES]
        for old in inside if partners else ():
            if not old.row.loop_depth:
                continue
            new = next((new for new in partners if _left_the_loop(old, new)), None)
            if new is None or old.row.instruction is None or not is_loop_invariant(old.row.instruction):
                continue
            partners.remove(new)
            names = ["hoisted"]
            if WIDENED.admits(old.key, new.key):
                names.append(WIDENED.name)
            if GATHER_AS_SUM.admits(old.key, new.key):
                names.append(GATHER_AS_SUM.name)
            yield Rewritten(tuple(names), shares_of([old], old.left), shares_of([new], new.left), FORMULA)


def _left_the_loop(old: Entry, new: Entry) -> bool:
    return bool(new.left) and new.row.loop_depth < old.row.loop_depth and old.left % new.left == 0
