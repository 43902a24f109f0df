"""A collective over devices of several slices, run inside the slices, between them, and inside again.

libtpu does this to whatever crosses the data-centre network (`hierarchical.py` puts the steps together): executions
and elements of the whole array stay, and each step is counted on its own axes in the ledger of what runs.
"""

from __future__ import annotations

from ...collectives import Collective

JOINT = "+"
"""Between the names of the steps (or parts) in the name of their row; no instruction has it in its name."""


def was_in_steps(row: Collective) -> bool:
    """Whether this row stands for several steps."""
    return JOINT in row.name
