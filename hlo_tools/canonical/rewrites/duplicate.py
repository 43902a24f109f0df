"""The same collective of the same value, written twice and done once (common subexpression elimination, `cse`).

Evidence: in the partitioned program two rows of one computation read the same instruction, copies aside, and both
results are read. All but one of them may go.
"""

from __future__ import annotations

from ..drop import Drop
from ..evidence import repeated
from ..pool import Pool


def duplicate(before: Pool) -> Drop:
    """Rows that repeat another one."""
    return Drop.of("duplicate", "n executions on one value -> 1", repeated(before))
