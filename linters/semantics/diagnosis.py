"""What the measured gradients say about each term of the objective: the promised sum, another one, or none we know."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ...contracts.model import ObjectiveSection, TermSection
from ...contracts.semantics import MEANS, PARTS, SHARDS, STEP, WHOLE, AccumulationFact, SemanticsFacts, SizesFact
from .fit import Fit, fit
from .meaning import Setting, same
from .wording import with_microbatches

RATIO = 2e-6
"""A gradient's ratio to its reference may be so far from one: what float32 leaves of it."""
REST = 1e-5
"""Share of a gradient that no term may leave unexplained; in float64 inner products alone cost 1e-8."""
NOISE = {"float64": 1e-10, "float32": 2e-6}
"""How far rounding moves a whole gradient, relative to its length."""
DEAD = 1e-3
"""A ratio below this is none: the term is in the loss and not in the gradient."""
MANY = 6
"""Terms up to which every choice of terms that are divided otherwise is tried."""


@dataclass(frozen=True, slots=True)
class Found:
    """One term in one measurement. `ratio`: found / promised factor, None where rounding hides it.

    `by`: which of its vectors is in the gradient: the promised one, or means over microbatches or shards.
    `lifeless`: the term's own gradient is nothing at all, though its value depends on the parameters.
    """

    term: TermSection
    index: int
    setting: Setting
    ratio: float | None
    tolerance: float
    by: str
    lifeless: bool = False

    @property
    def promised(self) -> bool:
        return self.by in (WHOLE, PARTS)

    @property
    def wrong(self) -> bool:
        return self.lifeless or (self.promised and self.ratio is not None and abs(self.ratio - 1) > self.tolerance)

    @property
    def dead(self) -> bool:
        if self.lifeless:
            return True
        return self.wrong and self.ratio is not None and abs(self.ratio) <= max(DEAD * 0.1, self.tolerance)


@dataclass(frozen=True, slots=True)
class Measured:
    """One number of microbatches: every term of the promise, or `rest`, the share of the gradient nothing explains."""

    fact: AccumulationFact
    found: tuple[Found, ...]
    rest: float | None
    loss: float
    """The promised loss."""
    cosine: float


class Diagnosis:
    """The facts of one step beside the objective that its contract promises."""

    def __init__(self, facts: SemanticsFacts, objective: ObjectiveSection) -> None:
        self.facts = facts
        self.terms = [
            (index, term)
            for index, term in enumerate(objective.terms)
            if term.name in facts.terms and term.weight is not None and term.normaliser is not None
        ]
        self.complete = len(self.terms) == len(objective.terms) == len(facts.terms)
        self.complete = self.complete and not self.without_divisor and not self.unfinite and self.broken is None

    @property
    def without_divisor(self) -> tuple[tuple[int, TermSection], ...]:
        """Terms whose promised divisor nothing in the probed batch tells."""
        sizes = self.facts.sizes
        if sizes is None:
            return ()
        return tuple((index, term) for index, term in self.terms if self.divisor(term, 1, sizes) is None)

    @cached_property
    def unfinite(self) -> tuple[tuple[int, TermSection, float], ...]:
        """Terms whose own sum is no finite number, over the batch or in one of its microbatches, with that sum."""
        found = []
        for index, term in self.terms:
            pieces = (piece for fact in self.facts.accumulations for piece in fact.terms.get(term.name, ()))
            sums = [each.sum for each in (self.facts.terms[term.name], *pieces)]
            odd = next((each for each in sums if not math.isfinite(each)), None)
            if odd is not None:
                found.append((index, term, odd))
        return tuple(found)

    @cached_property
    def broken(self) -> str | None:
        """What the step itself makes that is no finite number: its loss, its gradient or its update."""
        for fact in self.facts.accumulations:
            count = with_microbatches([fact.microbatches])
            if not math.isfinite(fact.loss):
                return f"its loss {count} is {fact.loss:g}"
            if not all(math.isfinite(each) for row in fact.gram for each in row):
                return f"a gradient {count} is no finite number"
        for each in self.facts.update.parameters if self.facts.update is not None else ():
            products = (each.gg, each.ga, each.aa, each.dd, each.du, each.dp, each.uu, each.up, each.pp)
            if not all(math.isfinite(product) for product in products if product is not None):
                return f"what one update makes of `{each.path}` is no finite number"
        return None

    @cached_property
    def lifeless(self) -> frozenset[str]:
        """Terms of some weight that have no gradient in `loss_terms` itself, and another value at other parameters."""
        return frozenset(
            term.name
            for _, term in self.terms
            if term.weight
            and term.name in self.facts.elsewhere
            and not same(self.facts.elsewhere[term.name], self.facts.terms[term.name].sum)
            and not any(_length(fact, kind + term.name) for fact in self.facts.accumulations for kind in (WHOLE, PARTS))
        )

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """Each number of microbatches in turn; none where a term is promised in part, or arithmetic is too coarse."""
        if not self.complete or self.facts.sizes is None or self.facts.precision not in NOISE:
            return ()
        return tuple(self._measure(fact, self.facts.sizes) for fact in self.facts.accumulations)

    def _measure(self, fact: AccumulationFact, sizes: SizesFact) -> Measured:
        places = {name: index for index, name in enumerate(fact.vectors)}
        found: list[Found] = []
        rest = math.inf
        for chosen in self._choices(fact):
            names = [kind + term.name for kind, (_, term) in zip(chosen, self.terms, strict=True)]
            tried = fit(fact.gram, places[STEP], [places[name] for name in names])
            if tried.rest < rest:
                rest, found = tried.rest, list(self._found(fact, sizes, chosen, tried))
            if rest <= REST:
                break
        explained = rest <= REST
        return Measured(
            fact,
            tuple(found) if explained else (),
            None if explained else rest,
            self._promised_loss(fact, sizes),
            self._cosine(fact, sizes),
        )

    def _promised_kinds(self, fact: AccumulationFact) -> list[str]:
        return [
            PARTS if PARTS + term.name in fact.vectors and term.normaliser == "microbatches" else WHOLE
            for _, term in self.terms
        ]

    def _choices(self, fact: AccumulationFact) -> Iterator[tuple[str, ...]]:
        """The promised vectors first; then every way to take some of them as means, few before many."""
        promised = self._promised_kinds(fact)
        yield tuple(promised)
        numbers = range(len(promised)) if len(promised) <= MANY else range(0)
        others = [SHARDS, MEANS, PARTS, WHOLE]
        for size in range(1, len(numbers) + 1):
            for chosen in combinations(numbers, size):
                for other in others:
                    names = [other + self.terms[index][1].name for index in chosen]
                    if all(name in fact.vectors for name in names):
                        yield tuple(other if i in chosen else kind for i, kind in enumerate(promised))

    def _found(self, fact: AccumulationFact, sizes: SizesFact, chosen: tuple[str, ...], tried: Fit) -> Iterator[Found]:
        noise = NOISE[self.facts.precision]
        for position, (kind, (index, term)) in enumerate(zip(chosen, self.terms, strict=True)):
            setting = self.setting(term, fact.microbatches, sizes)
            assert term.weight is not None and term.normaliser is not None
            divisor = setting.value(term.normaliser)
            if kind == MEANS:
                divisor = float(fact.microbatches)
            elif kind == SHARDS:
                divisor = float(sizes.parts)
            expected = term.weight / divisor if divisor else 0.0
            ratio = tolerance = None
            if expected and math.isfinite(tried.spread[position]):
                tolerance = max(RATIO, noise * tried.spread[position] / abs(expected))
                ratio = tried.coefficients[position] / expected if tolerance < 0.5 else None
            yield Found(term, index, setting, ratio, tolerance or 0.0, kind, term.name in self.lifeless)

    def setting(self, term: TermSection, microbatches: int, sizes: SizesFact) -> Setting:
        """The numbers that a factor of this term may be made of."""
        return Setting(sizes, microbatches, term.weight or 1.0, self.facts.terms[term.name].denominator)

    def divisor(self, term: TermSection, microbatches: int, sizes: SizesFact) -> float | None:
        """What the term's sum is promised to be divided by; None where the batch does not tell."""
        assert term.normaliser is not None
        return self.setting(term, microbatches, sizes).value(term.normaliser)

    def _cosine(self, fact: AccumulationFact, sizes: SizesFact) -> float:
        """<g, ref> / (|g| |ref|) with the promised gradient as reference."""
        places = {name: index for index, name in enumerate(fact.vectors)}
        factors: list[tuple[int, float]] = []
        for kind, (_, term) in zip(self._promised_kinds(fact), self.terms, strict=True):
            divisor = self.divisor(term, fact.microbatches, sizes) or 1.0
            factors.append((places[kind + term.name], (term.weight or 0.0) / divisor))
        own = places[STEP]
        along = sum(factor * fact.gram[own][place] for place, factor in factors)
        squared = sum(a * b * fact.gram[i][j] for i, a in factors for j, b in factors)
        length = math.sqrt(max(squared * fact.gram[own][own], 0.0))
        return along / length if length else math.nan

    def _promised_loss(self, fact: AccumulationFact, sizes: SizesFact) -> float:
        return sum(self.value(term, fact, sizes) * (term.weight or 0.0) for _, term in self.terms)

    def value(self, term: TermSection, fact: AccumulationFact, sizes: SizesFact) -> float:
        """The promised value of one term, without its weight."""
        divisor = self.divisor(term, fact.microbatches, sizes)
        by_parts = term.normaliser == "microbatches"
        total = sum(piece.sum for piece in fact.terms[term.name]) if by_parts else self.facts.terms[term.name].sum
        return total / divisor if divisor else math.nan


def _length(fact: AccumulationFact, vector: str) -> float:
    """The square of a vector's length; 0 where it was not taken."""
    at = fact.vectors.index(vector) if vector in fact.vectors else None
    return 0.0 if at is None else fact.gram[at][at]
