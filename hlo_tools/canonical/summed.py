"""The canonical ledger with one row for each instruction again: arrays that travel together, added up."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective, CollectiveLedger
from ..transfers import nearest
from .combined import part_number


def summed(ledger: CollectiveLedger) -> CollectiveLedger:
    """Arrays of one instruction in one row where they are of one kind and dtype, in the place of the first."""
    together: dict[Hashable, list[Collective]] = {}
    for row in ledger.rows:
        key = id(row) if part_number(row) is None else (row.computation, _whole_name(row), row.kind, row.dtype)
        together.setdefault(key, []).append(row)
    return replace(ledger, rows=[_sum(rows) for rows in together.values()])


def _whole_name(row: Collective) -> str:
    return row.name if part_number(row) is None else row.name.rpartition(".part.")[0]


def _sum(rows: list[Collective]) -> Collective:
    first = rows[0]
    ring = sum((row.ring_exact if row.ring_exact is not None else Fraction(row.ring_bytes) for row in rows), Fraction())
    return replace(
        first,
        name=_whole_name(first),
        elements=sum(row.elements for row in rows),
        operand_bytes=sum(row.operand_bytes for row in rows),
        result_bytes=sum(row.result_bytes for row in rows),
        ring_bytes=nearest(ring),
        ring_exact=ring,
        parts=tuple(part for row in rows for part in row.parts),
    )
