"""What a wrong factor means: which number of the batch, the mesh or the contract it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...contracts.model import Normaliser
from ...contracts.semantics import SizesFact

CLOSE = 1e-5
"""Relative: so near two factors are the same number."""

LABELS: dict[Normaliser, str] = {
    "global_valid_tokens": "the counted tokens of the step",
    "microbatches": "the number of microbatches",
    "sequences": "the rows of the batch",
    "batch_positions": "all positions of the batch, counted or not",
    "experts": "the number of experts",
    "none": "nothing",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """The numbers of one measurement: microbatches, the batch, and the promised weight of the term in question."""

    sizes: SizesFact
    microbatches: int
    weight: float = 1.0
    own: float | None = None

    def value(self, normaliser: Normaliser) -> float | None:
        """What a normaliser is in this step; None where the batch does not tell."""
        return {
            "global_valid_tokens": self.sizes.tokens,
            "microbatches": float(self.microbatches),
            "sequences": float(self.sizes.sequences),
            "batch_positions": float(self.sizes.positions),
            "experts": self.own,
            "none": 1.0,
        }[normaliser]


def number(value: float) -> str:
    """A number as people write it: 685, 0.00195, 1.5e-06."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def explain(ratios: Sequence[tuple[Setting, float]], promised: Normaliser) -> str | None:
    """The one reason that makes every one of the found / promised factors; None where no reason fits all."""
    for describe, factor in _reasons(promised):
        expected = [factor(setting) for setting, _ in ratios]
        if all(e is not None and same(ratio, e) for e, (_, ratio) in zip(expected, ratios, strict=True)):
            return describe(ratios[-1][0])
    return None


def same(one: float, other: float, close: float = CLOSE) -> bool:
    """Whether two factors are the same within rounding."""
    return abs(one - other) <= close * max(abs(one), abs(other))


Describe = Callable[[Setting], str]
Factor = Callable[[Setting], float | None]


def _reasons(promised: Normaliser) -> Iterable[tuple[Describe, Factor]]:
    for other in LABELS:
        if other not in (promised, "experts"):
            yield _instead(promised, other)
    yield _times("its sign is turned", lambda s: -1.0)
    yield _times("its weight is not applied", lambda s: 1 / s.weight if s.weight else None)
    yield _times("its weight is applied twice", lambda s: s.weight)
    yield _times("it is added up over microbatches without a division by their number", lambda s: float(s.microbatches))
    yield _times("it is divided by the number of microbatches once more", lambda s: 1 / s.microbatches)
    yield _times("it is divided by the number of microbatches twice more", lambda s: s.microbatches**-2.0)
    yield _times("it is counted once for every device", lambda s: float(s.sizes.devices))
    yield _times("it is divided by the number of devices once more", lambda s: 1 / s.sizes.devices)
    yield _times("it is counted once for every shard of the batch", lambda s: float(s.sizes.parts))
    yield _times("it is divided by the number of shards of the batch once more", lambda s: 1 / s.sizes.parts)
    yield _times(
        "it is divided by the counted tokens once more", lambda s: 1 / s.sizes.tokens if s.sizes.tokens else None
    )
    yield _times("the last microbatch is left out", lambda s: (s.microbatches - 1) / s.microbatches or None)


def _instead(promised: Normaliser, other: Normaliser) -> tuple[Describe, Factor]:
    def factor(setting: Setting) -> float | None:
        right, wrong = setting.value(promised), setting.value(other)
        return None if right is None or not wrong or right == wrong else right / wrong

    def describe(setting: Setting) -> str:
        right, wrong = setting.value(promised), setting.value(other)
        assert right is not None and wrong is not None
        return f"it is divided by {_named(other, wrong)}; promised is a division by {_named(promised, right)}"

    return describe, factor


def _named(normaliser: Normaliser, value: float) -> str:
    return LABELS[normaliser] if normaliser == "none" else f"{LABELS[normaliser]} ({number(value)})"


def _times(words: str, factor: Factor) -> tuple[Describe, Factor]:
    def other_than_one(setting: Setting) -> float | None:
        value = factor(setting)
        return None if value is None or not math.isfinite(value) or value == 1.0 else value

    return (lambda _: words), other_than_one
