"""What a probe of a step saw: tokens and targets of a real batch were changed, and these losses moved.

Written by `runtime`.
"""

from __future__ import annotations

from pydantic import Field

from .manifest import Count, Fact

Run = tuple[Count, Count]
"""Columns from the first up to but not including the second."""


class Moved(Fact):
    """One change: the token (or target) at a column of a row became another, and the losses of these columns moved, in
    that row and (`elsewhere`) in others. `largest` is the greatest change among the losses of each run."""

    row: Count
    column: Count
    runs: list[Run] = Field(default_factory=list)
    largest: list[float] = Field(default_factory=list)
    elsewhere: list[Count] = Field(default_factory=list)


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
