"""A combined collective is the sum of its parts: one row for each array.

Combiners (`all-reduce-combiner`, `all-gather-combiner`, ...) put several arrays in one tuple-shaped instruction. A
scalar metric that rides along with a gradient must not hide in it, nor make it look larger.

An all-to-all with several operands is not combined: it is one array, cut into one piece for each device of the group
(XLA's CPU backend writes every all-to-all so).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective
from ..transfers import Transfer, nearest


def parts_of(row: Collective) -> Iterator[Collective]:
    """The row itself, or one row for each array of a combined collective; names get `.part.k`."""
    if len(row.parts) < 2 or row.kind == "all-to-all":
        yield row
        return
    for number, part in enumerate(row.parts):
        ring: Fraction = Transfer(row.kind, (part,), size=row.group_size).ring_bytes * row.count
        yield replace(
            row,
            name=f"{row.name}.part.{number}",
            elements=part.elements * row.count,
            dtype=part.dtype,
            operand_bytes=part.operand_bytes * row.count,
            result_bytes=part.result_bytes * row.count,
            ring_bytes=nearest(ring),
            ring_exact=ring,
            parts=(part,),
        )


def part_number(row: Collective) -> int | None:
    """Which array of a combined collective this row is; None where it travels alone."""
    head, _, number = row.name.rpartition(".")
    return int(number) if head.endswith(".part") and number.isascii() and number.isdecimal() else None
