"""Whether a vector is the sum of what each microbatch promises to add, each times a factor of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...contracts.semantics import PIECE, STEP, AccumulationFact
from .diagnosis import NOISE, REST, Diagnosis
from .fit import fit
from .meaning import number, same

CLIPPED = 1e-3
"""Relative: so near two clipped lengths are one bound; a denominator such as norm + 1e-6 moves them."""


@dataclass(frozen=True, slots=True)
class Factors:
    """vector = sum of factors[i] x the promised gradient of microbatch i, which is lengths[i] long."""

    factors: tuple[float, ...]
    lengths: tuple[float, ...]

    @property
    def clipped(self) -> bool:
        """Whether those with less than the greatest factor came out equally long, and none longer: as a clip does."""
        after = [abs(factor) * length for factor, length in zip(self.factors, self.lengths, strict=True)]
        bound = max(after)
        whole = [factor for factor, size in zip(self.factors, after, strict=True) if size < bound * (1 - CLIPPED)]
        first = whole[0] if whole else 0.0
        return (
            min(self.factors) > 0
            and len(whole) < len(after)
            and all(same(factor, first, CLIPPED) for factor in whole)
            and all(not whole or factor <= first * (1 + CLIPPED) for factor in self.factors)
        )

    def words(self) -> str:
        """What was measured, and what it is where a clip of each microbatch makes it."""
        listed = ", ".join(number(float(f"{round(each, 6) + 0.0:.3g}")) for each in self.factors)
        if self.clipped:
            return f"each microbatch is clipped by itself before they are added up (x {listed})"
        return f"each microbatch has a factor of its own ({listed})"


def of_step(diagnosis: Diagnosis, fact: AccumulationFact) -> Factors | None:
    """The factors in the step's gradient; None where microbatches have none of their own."""
    row = fact.gram[fact.vectors.index(STEP)]
    return _factors(diagnosis, fact, dict(zip(fact.vectors, row, strict=True)), row[fact.vectors.index(STEP)], REST)


def of_update(diagnosis: Diagnosis, microbatches: int) -> Factors | None:
    """The factors in what the optimizer was given."""
    update = diagnosis.facts.update
    fact = next((each for each in diagnosis.facts.accumulations if each.microbatches == microbatches), None)
    squared = sum(each.aa or 0.0 for each in update.parameters) if update is not None else 0.0
    if update is None or fact is None or not update.given or not squared:
        return None
    return _factors(diagnosis, fact, update.given, squared, CLIPPED)


def _factors(
    diagnosis: Diagnosis, fact: AccumulationFact, inner: Mapping[str, float], squared: float, rest: float
) -> Factors | None:
    """By least squares. inner: products of the vector with those of `fact`; squared: with itself."""
    sizes = diagnosis.facts.sizes
    if not diagnosis.complete or sizes is None or diagnosis.facts.precision not in NOISE or fact.microbatches < 2:
        return None
    places = {name: at for at, name in enumerate(fact.vectors)}
    parts: list[list[tuple[str, float]]] = []
    for index in range(fact.microbatches):
        part = []
        for _, term in diagnosis.terms:
            divisor = diagnosis.divisor(term, fact.microbatches, sizes)
            name = f"{PIECE}{index}:{term.name}"
            if not divisor or name not in places or name not in inner:
                return None
            part.append((name, (term.weight or 0.0) / divisor))
        parts.append(part)
    between = [
        [sum(a * b * fact.gram[places[x]][places[y]] for x, a in one for y, b in other) for other in parts]
        for one in parts
    ]
    along = [sum(factor * inner[name] for name, factor in part) for part in parts]
    gram = [*([*row, product] for row, product in zip(between, along, strict=True)), [*along, squared]]
    if not all(math.isfinite(each) for row in gram for each in row):
        return None
    tried = fit(gram, len(parts), range(len(parts)))
    told = tried.rest <= rest and all(math.isfinite(spread) for spread in tried.spread)
    if not told or all(same(each, tried.coefficients[0], CLIPPED) for each in tried.coefficients):
        return None
    return Factors(tried.coefficients, tuple(math.sqrt(max(between[i][i], 0.0)) for i in range(len(parts))))
