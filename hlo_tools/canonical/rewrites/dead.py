"""A collective whose result nothing reads, removed (`dce`).

Evidence: in the partitioned program only moves and tuples that nothing reads either follow from the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import removed, unread
from ..explanation import Rewritten
from ..pool import Pool


def dead(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of rows that nobody reads."""
    return removed(before, unread(before), "dead", "an unread result -> nothing")
