"""Sections `metrics`, `eval` and `training`: what a run reports, what it is judged by, and how long it is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Section
from .objective import Normaliser


class MetricSection(Section):
    """One logged number, as a sum that was not divided yet and what it is divided by."""

    sum: str = Field(description="Name of a term, or `objective` for all with their weights.")
    denominator: Normaliser = Field(description="What the sum is divided by, over the whole step.")
    output: str | None = Field(default=None, description="What the step calls it; default: the metric's own name.")


class EvalSection(Section):
    """How the model is judged between steps."""

    step: str | None = Field(default=None, description="The step of this contract that evaluates.")
    terms: list[str] = Field(default_factory=list, description="Terms of the objective that are reported.")
    combine: Literal["sum_then_divide", "mean_of_batches"] = Field(
        default="sum_then_divide", description="How batches make up a reported value."
    )
    random: bool = Field(default=False, description="Whether anything is drawn, such as dropout.")
    every: int | None = Field(default=None, ge=1, description="Steps between two evaluations.")


class TrainingSection(Section):
    """The length of a run."""

    steps: int | None = Field(default=None, ge=1, description="Optimizer steps.")
    tokens: int | None = Field(default=None, ge=1, description="Tokens read: steps x sequences x positions.")
