"""What a probed step shows of its meaning: `DIR/<step>/semantics.json` of a capture. Numbers only; rules judge them.

A step is built with several numbers of microbatches and run on one batch whose microbatches count different numbers of
tokens. Its gradient is compared with the gradients of its terms, taken without accumulation on one device. Of these
vectors the inner products are kept: whether a gradient is a given sum of others is a question about them alone.

    step         gradient of the step's loss with N microbatches
    whole:T      gradient of the sum of term T over the whole batch
    parts:T      sum over microbatches of the gradient of their sums of T; the same as `whole` where T is linear in rows
    means:T      sum over microbatches of the gradient of their sums of T, each divided by its own counted tokens
    shards:T     the same over the parts of the batch that lie on one device each
    piece:I:T    gradient of the sum of T over microbatch I alone, for the promised number of microbatches
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .manifest import Count, Fact, NotCompared, Positive
from .uncounted import Uncounted

STEP, WHOLE, PARTS, MEANS, SHARDS, PIECE = "step", "whole:", "parts:", "means:", "shards:", "piece:"


class TermSum(Fact):
    """One term over some rows, as the step's `loss_terms` gives it."""

    sum: float
    denominator: float


class AccumulationFact(Fact):
    """The step with so many microbatches, on so many devices.

    `terms`: of each microbatch in the promised order. `gram[i][j]` is the inner product of vectors i and j, in float64.
    """

    microbatches: Positive
    devices: Positive
    loss: float
    tokens: list[float] = Field(default_factory=list)
    terms: dict[str, list[TermSum]] = Field(default_factory=dict)
    vectors: list[str]
    gram: list[list[float]]


class SizesFact(Fact):
    """What the probed batch holds: `sequences` rows, `positions` targets, `tokens` of them counted (None: no mask).

    `parts`: devices that hold different rows of it.
    """

    sequences: Positive
    positions: Count
    tokens: float | None = None
    parts: Positive = 1
    devices: Positive = 1


class ParameterFact(Fact):
    """One parameter: how it starts, where it lives, and what one update does to it.

    With gradient g, what the optimizer was given a (from the first moment), parameter p before, change d and the
    normalised direction u of the declared optimizer: inner products. `copies`: devices that hold each element.
    """

    path: str
    shape: list[Count]
    dtype: str
    spec: list[list[str]] | None = None
    copies: Positive = 1
    start: str
    gg: float
    ga: float | None = None
    aa: float | None = None
    dd: float
    du: float | None = None
    dp: float
    uu: float | None = None
    up: float | None = None
    pp: float


class UpdateFact(Fact):
    """The first update that changes a parameter. `limit` is the clip's where the step was built with another one.

    given: inner products of what the optimizer was given with each microbatch's gradients, by the vector's name.
    """

    index: Count
    limit: float | None = None
    reported: dict[str, float] = Field(default_factory=dict)
    given: dict[str, float] = Field(default_factory=dict)
    parameters: list[ParameterFact]


class DrawsFact(Fact):
    """What the step draws, by what makes gradients differ that only random numbers can tell apart.

    `microbatches`, `steps`: |g - g'| / |g| between two microbatches of equal rows, between two steps on one batch with
    equal parameters; None where it was not tried.
    """

    random: bool
    microbatches: float | None = None
    steps: float | None = None


class SemanticsFacts(Fact):
    """What the probe of one step found. `precision` is that of its arithmetic."""

    precision: Literal["float64", "float32", "less"]
    mask: str | None = Field(
        default=None, description="The array that says which targets count, times that of their weights."
    )
    uncounted: Uncounted | None = Field(
        default=None, description="The id of targets that do not count, where that array is the labels."
    )
    sizes: SizesFact | None = None
    terms: dict[str, TermSum] = Field(default_factory=dict)
    elsewhere: dict[str, float] = Field(
        default_factory=dict, description="The sum of each term over the same batch, at other parameters."
    )
    accumulations: list[AccumulationFact] = Field(default_factory=list)
    accumulators: list[str] = Field(default_factory=list)
    metrics: dict[str, float] = Field(default_factory=dict)
    unread: list[str] = Field(default_factory=list, description="Keys of build arguments that nobody read.")
    missed: list[str] = Field(default_factory=list, description="Keys that were asked for and are not there.")
    update: UpdateFact | None = None
    draws: DrawsFact | None = None
    not_judged: list[NotCompared] = Field(default_factory=list)
