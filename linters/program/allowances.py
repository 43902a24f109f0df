"""Entries of `collectives.allow` that miss by one word what they were written for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.model import AllowedCollective, as_axes
from ...contracts.plan.collectives.allowed import CountedCollective, allows

SMALL = 64
"""Elements up to which a collective is one that an allowance might have meant: a few metrics, no tensor."""


def misfitting(allow: Sequence[AllowedCollective], rows: Iterable[CountedCollective]) -> dict[int, AllowedCollective]:
    """The entries, by position, that allow no collective of a program over all the axes they name."""
    rows = list(rows)
    return {index: entry for index, entry in enumerate(allow) if not any(_uses(entry, row) for row in rows)}


def nearly_allows(entry: AllowedCollective, row: CountedCollective) -> bool:
    """Whether exactly one of kind, axes and size keeps an entry from allowing a row."""
    if row.axes is None or isinstance(row.axes, str):
        return False
    each = row.elements // row.count if row.count else row.elements
    misses = (
        row.kind != entry.kind,
        not set(row.axes) <= set(as_axes(entry.axes)),
        each > entry.elements_max,
    )
    return sum(misses) == 1 and each <= max(SMALL, entry.elements_max)


def _uses(entry: AllowedCollective, row: CountedCollective) -> bool:
    return allows(entry, row) and set(row.axes or ()) == set(as_axes(entry.axes))
