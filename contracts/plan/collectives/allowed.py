"""Collectives a contract allows without planning them: taken out of both sides of a comparison, by the same rule, and
kept by name.

An entry allows a collective of its kind whose axes are among the entry's and whose single execution moves at most
`elements_max` elements. It applies to planned rows and to rows of a program's ledger alike, so that a small planned
array (a norm's scale of 16 elements, say) is left out on both sides or on neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ...model import AllowedCollective, as_axes


class CountedCollective(Protocol):
    """What a planned row and a ledger row share. `axes` is None or a text where the axes are not known."""

    @property
    def kind(self) -> str: ...
    @property
    def axes(self) -> Sequence[str] | str | None: ...
    @property
    def count(self) -> int: ...
    @property
    def elements(self) -> int: ...


Row = TypeVar("Row", bound=CountedCollective)


@dataclass(frozen=True, slots=True)
class Allowance(Generic[Row]):
    """Rows divided into those to compare and those allowed, the latter with the index of the entry in
    `collectives.allow`."""

    kept: list[Row]
    allowed: list[tuple[Row, int]]


def without_allowed(rows: Iterable[Row], allow: Sequence[AllowedCollective]) -> Allowance[Row]:
    """Divide rows by the first entry that allows each. Rows of unknown or irregular axes are never allowed."""
    split: Allowance[Row] = Allowance([], [])
    for row in rows:
        index = next((i for i, entry in enumerate(allow) if allows(entry, row)), None)
        if index is None:
            split.kept.append(row)
        else:
            split.allowed.append((row, index))
    return split


def allows(entry: AllowedCollective, row: CountedCollective) -> bool:
    """Whether one entry allows one row."""
    if row.kind != entry.kind or row.axes is None or isinstance(row.axes, str):
        return False
    each = row.elements // row.count if row.count else row.elements
    return each <= entry.elements_max and set(row.axes) <= set(as_axes(entry.axes))
