"""A collective of a value that is the same in every round of a loop, done once before it.

Parameters do not change while microbatches are accumulated, so a gather of a parameter that stands in the loop over
microbatches gives the same array each time; loop-invariant code motion (`while-loop-invariant-code-motion`) moves it
out. Elements and executions are divided by the trip counts of the loops it leaves. Memory grows: the gathered array
lives through the loop.

Evidence: the row stood deeper in loops before, and its operand does not depend on what the loop changes.
"""

from __future__ import annotations

from ..pool import Entry
from ..relation import Relation
from .gather_as_sum import GATHER_AS_SUM
from .narrowed import NARROWED
from .spelling import Spelling
from .widened import WIDENED

FORMULA = "executions and elements / trips of the loops left"
# Spellings that may change on the way out of the loop.
_ON_THE_WAY: tuple[Spelling, ...] = (WIDENED, NARROWED, GATHER_AS_SUM)


def respelled(entry: Entry) -> object:
    """What a collective keeps when it is hoisted."""
    key = entry.key
    for spelling in _ON_THE_WAY:
        key = spelling.ignore(key)
    return key


def hoisted(old: Entry, new: Entry) -> Relation | None:
    """The relation of a row inside a loop to one further out."""
    if new.row.loop_depth >= old.row.loop_depth or old.row.count % new.row.count or old.key.each != new.key.each:
        return None
    # Rows that never leave their loop are most: ask them before the spelling is compared.
    if not old.invariant or respelled(old) != respelled(new):
        return None
    names = ["hoisted"]
    if old.key.dtype != new.key.dtype:
        spelling = next((each for each in (WIDENED, NARROWED) if each.admits(old, new)), None)
        if spelling is None:
            return None
        names.append(spelling.name)
    if old.key.kind != new.key.kind:
        if not GATHER_AS_SUM.admits(old, new):
            return None
        names.append(GATHER_AS_SUM.name)
    return Relation(tuple(names), FORMULA)
