"""What a probe of a step saw: tokens and targets of a real batch were changed, and these losses moved.

Written by `runtime`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isnan
from typing import NamedTuple

from pydantic import Field

from .manifest import Count, Fact


class Moved(Fact):
    """One change: the token (or target) at a column of a row became another. `losses` are those of its row that moved,
    column -> by how much (NaN where the loss became one); `elsewhere` the other rows in which one moved."""

    row: Count
    column: Count
    losses: dict[Count, float] = Field(default_factory=dict)
    elsewhere: list[Count] = Field(default_factory=list)

    def among(self, columns: Iterable[int]) -> MovedLosses | None:
        """What moved in these columns alone; None where nothing did."""
        found = {column: self.losses[column] for column in columns if column in self.losses}
        if not found:
            return None
        return MovedLosses(min(found), len(found), max(found.values(), key=lambda by: inf if isnan(by) else by))


class MovedLosses(NamedTuple):
    """Losses of a row that moved: the first column, how many, and the largest change among them."""

    first: int
    count: int
    largest: float


class ProbeFacts(Fact):
    """`fields`: arrays of the batch that the step takes, `dead`: those of them that nothing it returns depends on.

    `how`: where the loss of each token was read, None where the step offers neither. `terms`: name -> (sum,
    denominator) of the loss on this batch. `moved`: what another token did, `answered`: what another target did.
    """

    step: str
    fields: list[str] = Field(default_factory=list)
    dead: list[str] = Field(default_factory=list)
    how: str | None = None
    moved: list[Moved] = Field(default_factory=list)
    answered: list[Moved] = Field(default_factory=list)
    terms: dict[str, tuple[float, float]] = Field(default_factory=dict)
