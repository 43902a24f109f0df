"""Arrays that travel in one instruction (`all-reduce-combiner`, `all-gather-combiner`, `reduce-scatter-combiner`).

Executions and elements of each array stay; the ledger counts a combined instruction once for each array in it.
"""

from __future__ import annotations

from ...collectives import Collective
from ..combined import part_number


def was_combined(row: Collective) -> bool:
    """Whether this row is one array of a combined collective."""
    return part_number(row) is not None
