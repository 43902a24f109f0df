"""A collective whose result nothing reads, removed (`dce`).

Evidence: in the partitioned program only moves and tuples that nothing reads either follow from the result.
"""

from __future__ import annotations

from ..drop import Drop
from ..evidence import unread
from ..pool import Pool


def dead(before: Pool) -> Drop:
    """Rows that nobody reads."""
    return Drop.of("dead", "an unread result -> nothing", unread(before))
