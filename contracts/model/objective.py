"""Section `objective`: the terms of the loss, what each is divided by, and how it is logged."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Section

TermKind = Literal["primary", "auxiliary", "router", "z_loss", "regularisation"]
Reduction = Literal["token_mean", "microbatch_mean", "sequence_mean", "sum", "last", "none"]
Normaliser = Literal[
    "global_valid_tokens",
    "microbatches",
    "sequences",
    "batch_positions",
    "experts",
    "none",
]
"""What a sum is divided by, each over the whole optimizer step: targets that count, microbatches, rows of the batch,
targets whether they count or not, experts, or nothing."""

Combine = Literal["sum_then_divide", "divide_then_sum", "mean_of_microbatches"]
"""sum_then_divide: microbatches are added up, then divided once; divide_then_sum: each has the step's divisor already;
mean_of_microbatches: each is a whole term by itself, and their mean is taken."""


class TermSection(Section):
    """One term of the loss. `loss_terms` of the step gives its sum and denominator by this name."""

    name: str = Field(min_length=1, description="As the step's `loss_terms` names it.")
    kind: TermKind = Field(default="primary", description="What it is for.")
    weight: float | None = Field(default=None, description="Factor of the term in the loss.")
    normaliser: Normaliser | None = Field(default=None, description="What its sum is divided by, in a whole step.")
    accumulation: Combine | None = Field(
        default=None, description="How microbatches make it up; default: `accumulation.combine`."
    )
    metric: Reduction | None = Field(
        default=None, description="How its logged value is reduced; none: it is not logged."
    )
    scope: Literal["global", "device"] = Field(
        default="global",
        description="device: divided on each device by what lies there, then averaged over devices.",
    )


class ObjectiveSection(Section):
    """What is minimised: the sum of weight x sum / normaliser over its terms."""

    terms: list[TermSection] = Field(min_length=1, description="Every term of the loss.")

    def term(self, name: str) -> TermSection | None:
        """The term of a name."""
        return next((term for term in self.terms if term.name == name), None)
