"""The same collective of the same value, written twice and done once (common subexpression elimination, `cse`).

Evidence: in the partitioned program two rows of one computation read the same instruction, copies aside, and both
results are read. All but one of them may go.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..evidence import removed, repeated
from ..explanation import Rewritten
from ..pool import Pool


def duplicate(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of rows that repeat another one."""
    return removed(before, repeated(before), "duplicate", "n executions on one value -> 1")
