"""A collective whose result nothing reads, removed (`dce`).

Evidence: in the partitioned program no instruction that matters reads the result: following its users never reaches
the result of the computation, a store or another collective.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..explanation import Rewritten
from ..pool import Pool, shares_of
from ..provenance import is_unused

FORMULA = "an unread result -> nothing"


def dead(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of rows that nobody reads."""
    for entry in before.open():
        if entry.row.instruction is not None and is_unused(entry.row.instruction):
            yield Rewritten(("dead",), shares_of([entry], entry.left), (), FORMULA)
