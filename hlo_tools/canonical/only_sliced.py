"""An all-reduce of which every device uses only its own slice is a reduce-scatter.

The partitioner writes every sharded sum as all-reduce and dynamic slice; only some backends turn it into a
reduce-scatter instruction (CUDA mostly does; CPU does not, and fuses the slice; TPU does inside its own fusions).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective
from ..flow import Flow
from ..only_sliced import is_only_sliced
from ..transfers import nearest
from .combined import part_number


def as_reduce_scatter(row: Collective, flow: Flow) -> Collective:
    """The row itself, or the same row as a reduce-scatter where all its uses are slices of 1/n."""
    if row.kind != "all-reduce" or row.group_size < 2 or row.instruction is None or row.count == 0:
        return row
    if not is_only_sliced(flow, row.instruction, row.own_groups or row.groups, row.group_size, part_number(row)):
        return row
    ring = Fraction(row.operand_bytes * (row.group_size - 1), row.group_size)
    return replace(
        row,
        kind="reduce-scatter",
        result_bytes=row.operand_bytes // row.group_size,
        ring_bytes=nearest(ring),
        ring_exact=ring,
    )
