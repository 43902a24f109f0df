"""What the measured update says: the clip's factor, and rate and decay of each parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ...contracts.model import Contract
from ...contracts.model.optimizer import ClipTransform, DecayTransform, RateTransform, ScheduleSection
from ...contracts.pattern import path_pattern
from ...contracts.semantics import ParameterFact, SemanticsFacts, UpdateFact

CLOSE = {"float64": 1e-6, "float32": 1e-3}
"""How far a factor of the update may be off, by the arithmetic of the probe: p + d rounds d away in float32."""
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
"""The spacing of numbers around one."""
UNEXPLAINED = 1e-2
"""Share of a parameter's change that rate and decay may leave: beyond it the direction is not the declared one."""


@dataclass(frozen=True, slots=True)
class Move:
    """One parameter's change as d = -rate (u + decay p). `decay` is None where it cannot be told from the rate, or from
    rounding; `noise`: how far rounding may move it."""

    fact: ParameterFact
    rate: float
    decay: float | None
    noise: float = 0.0


class Update:
    """The facts of one update beside the promised transformations."""

    def __init__(self, facts: SemanticsFacts, contract: Contract) -> None:
        assert facts.update is not None
        self.fact: UpdateFact = facts.update
        self.close = CLOSE.get(facts.precision, 0.0)
        self.epsilon = EPSILON.get(facts.precision, 1.0)
        self.chain = contract.optimizer.chain if contract.optimizer is not None else []
        self.schedule = contract.optimizer.schedule if contract.optimizer is not None else False

    @property
    def clip(self) -> ClipTransform | None:
        """The promised clip of the whole gradient."""
        return next((each for each in self.chain if isinstance(each, ClipTransform) and each.per == "step"), None)

    @property
    def decay(self) -> DecayTransform | None:
        return next((each for each in self.chain if isinstance(each, DecayTransform)), None)

    @property
    def rates(self) -> RateTransform | None:
        return next((each for each in self.chain if isinstance(each, RateTransform)), None)

    @property
    def limit(self) -> float | None:
        """The bound of the norm that the probed step was built with."""
        return self.fact.limit if self.fact.limit is not None else self.clip.max_norm if self.clip else None

    @cached_property
    def norm(self) -> float:
        """Of the gradient, each element once."""
        return math.sqrt(sum(each.gg for each in self.fact.parameters))

    @cached_property
    def norm_of_copies(self) -> float:
        """The same with every element counted once for each device that holds it."""
        return math.sqrt(sum(each.copies * each.gg for each in self.fact.parameters))

    @cached_property
    def factors(self) -> dict[str, float]:
        """What each parameter's gradient was multiplied by before the optimizer saw it; none without a first moment."""
        return {
            each.path: each.ga / each.gg
            for each in self.fact.parameters
            if each.ga is not None and each.gg > 0 and self.fact.index == 0
        }

    @cached_property
    def factor(self) -> float | None:
        """The same for all together."""
        seen = [each for each in self.fact.parameters if each.path in self.factors]
        size = sum(each.gg for each in seen)
        return sum(each.ga or 0.0 for each in seen) / size if size else None

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Rate and decay of every parameter that moved."""
        moves = (_move(each, self.epsilon, self.close) for each in self.fact.parameters)
        return tuple(move for move in moves if move is not None)

    @cached_property
    def promised_rate(self) -> float | None:
        """The learning rate of this update, where the contract gives it in numbers."""
        if self.rates is not None and self.rates.rate is not None:
            return self.rates.rate
        schedule = self.schedule
        if not isinstance(schedule, ScheduleSection) or schedule.peak is None or schedule.unit != "steps":
            return None
        if self.fact.index < schedule.warmup:
            return schedule.peak * self.fact.index / schedule.warmup
        return schedule.peak if schedule.kind == "constant" else None

    def multiplier(self, path: str) -> float:
        """The promised factor of a parameter's learning rate."""
        given = self.rates.multipliers if self.rates is not None else {}
        return next((factor for match, factor in given.items() if path_pattern(match).matches(path)), 1.0)

    def promised_decay(self, path: str) -> float:
        """The promised decay of a parameter."""
        if self.decay is None or any(path_pattern(match).matches(path) for match in self.decay.skip):
            return 0.0
        return self.decay.rate


def _move(fact: ParameterFact, epsilon: float, close: float) -> Move | None:
    """d = a u + b p by least squares, so rate = -a and decay = b / a.

    p + d is rounded to epsilon |p|, and u to epsilon |u|: that moves the decay by epsilon (1 / rate + |u| / |p|), and
    by more where u and p are nearly one line.
    """
    if fact.du is None or fact.uu is None or fact.up is None or fact.dd == 0 or fact.uu == 0:
        return None
    determinant = fact.uu * fact.pp - fact.up**2
    if determinant <= 1e-9 * fact.uu * fact.pp:
        # Parameter and direction are one line: what is decay and what is rate cannot be told.
        return Move(fact, -fact.du / fact.uu, None)
    along = (fact.du * fact.pp - fact.dp * fact.up) / determinant
    beside = (fact.dp * fact.uu - fact.du * fact.up) / determinant
    left = fact.dd - along * fact.du - beside * fact.dp
    if left > UNEXPLAINED**2 * fact.dd or along == 0:
        return None
    apart = math.sqrt(determinant / (fact.uu * fact.pp))
    noise = epsilon * (1 / abs(along) + math.sqrt(fact.uu / fact.pp)) / apart
    return Move(fact, -along, beside / along if noise <= close else None, noise)
