"""A transfer between TPU slices is the collective that its target names: megascale runs it as `send` and `recv`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective
from ..slices import crosses_slices, transfer_kind
from ..transfers import Part, Transfer, nearest


def as_collective(row: Collective) -> Collective:
    """The row itself, or a transfer between slices under the kind of what it does."""
    if row.kind != "send-recv" or row.instruction is None or not crosses_slices(row.instruction):
        return row
    kind = transfer_kind(row.instruction)
    if kind is None or len(row.parts) != 1:
        return row
    (sent,) = row.parts
    elements, result = sent.elements, sent.operand_bytes
    if kind == "all-gather":
        elements, result = elements * row.group_size, result * row.group_size
    elif kind == "reduce-scatter":
        result //= row.group_size
    part = Part(elements, sent.dtype, sent.operand_bytes, result)
    ring: Fraction = Transfer(kind, (part,), size=row.group_size).ring_bytes * row.count
    return replace(
        row,
        kind=kind,
        elements=elements * row.count,
        result_bytes=result * row.count,
        ring_bytes=nearest(ring),
        ring_exact=ring,
        parts=(part,),
    )
