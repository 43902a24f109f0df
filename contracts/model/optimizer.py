"""Section `optimizer`: its slots and where they live, its transformations in order, and its schedule."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Section
from .sharding import Axes, Pattern


class ReduceTransform(Section):
    """Gradients are summed over microbatches and devices."""

    kind: Literal["reduce"] = Field(description="The sum over microbatches and devices.")


class ClipTransform(Section):
    """g * min(1, max_norm / norm)."""

    kind: Literal["clip_by_global_norm"] = Field(description="The norm of all gradients together is bounded.")
    max_norm: float = Field(gt=0, description="The bound.")
    per: Literal["step", "microbatch"] = Field(
        default="step", description="What is clipped: the reduced gradient, or each microbatch's."
    )
    arg: str | None = Field(default=None, description="The build argument that sets the bound; passes nothing on.")


class AdamTransform(Section):
    """Adam's direction (Kingma and Ba, arXiv 1412.6980)."""

    kind: Literal["scale_by_adam"] = Field(description="Adam's direction.")
    b1: float = Field(default=0.9, ge=0, lt=1, description="Decay of the first moment.")
    b2: float = Field(default=0.999, ge=0, lt=1, description="Decay of the second moment.")
    eps: float = Field(default=1e-8, ge=0, description="Added to the root of the second moment.")


class TraceTransform(Section):
    """Momentum."""

    kind: Literal["trace"] = Field(description="Momentum.")
    decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the trace.")


class DecayTransform(Section):
    """Decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""

    kind: Literal["add_decayed_weights"] = Field(description="A share of each parameter is taken off.")
    rate: float = Field(ge=0, description="Share, before the learning rate.")
    skip: list[Pattern] = Field(
        default_factory=list, description="Parameters without decay: regular expressions for the end of their paths."
    )


class RateTransform(Section):
    """The learning rate."""

    kind: Literal["scale_by_learning_rate"] = Field(description="Times minus the learning rate.")
    rate: float | None = Field(default=None, gt=0, description="A constant one; default: `optimizer.schedule`.")
    multipliers: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict, description="Regular expression for parameters -> factor of their learning rate."
    )


Transform = Annotated[
    ReduceTransform | ClipTransform | AdamTransform | TraceTransform | DecayTransform | RateTransform,
    Field(discriminator="kind"),
]


class ScheduleSection(Section):
    """The learning rate over the run."""

    kind: Literal["constant", "linear", "cosine", "inverse_sqrt", "other"] = Field(description="Its shape.")
    unit: Literal["steps", "microbatches", "tokens"] = Field(
        default="steps", description="What `warmup` and `total` count: optimizer steps, microbatches or tokens."
    )
    peak: float | None = Field(default=None, gt=0, description="The largest rate.")
    warmup: int = Field(default=0, ge=0, description="Until the peak is reached, in units.")
    total: int | None = Field(default=None, ge=1, description="Until the last value is reached, in units.")
    end: float = Field(default=0.0, ge=0, description="The last value.")
    counter: bool = Field(default=True, description="It counts its own steps: one slot more.")


class OptimizerSection(Section):
    """The optimizer by its slots, where those live, and what it does to a gradient, in order."""

    name: Literal["adamw", "adam", "sgd", "momentum"] = Field(
        default="adamw", description="Decides the slots: two, one or none."
    )
    placement: Literal["parameters"] | Axes = Field(
        default="parameters",
        description="`parameters`: as the parameter; or mesh axes the slots are further split over (ZeRO-1).",
    )
    schedule: bool | ScheduleSection = Field(
        default=False, description="The learning rate's schedule; true: there is one that counts its own steps."
    )
    chain: list[Transform] = Field(
        default_factory=list, description="What happens to a gradient, in order, `reduce` among it."
    )

    @property
    def counts_schedule(self) -> bool:
        """Whether the learning rate's schedule has a counter of its own among the slots."""
        return self.schedule if isinstance(self.schedule, bool) else self.schedule.counter
