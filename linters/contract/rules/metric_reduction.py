"""A logged number is reduced otherwise than what it stands for.

## What it does
Holds a term's `metric` to its normaliser (a term over all counted tokens of the step is no mean of microbatch means,
one that is divided by nothing is no mean), and the `denominator` of each metric to what it is the sum of: the number
of microbatches is none for a term over the whole step, and the whole objective has that of its primary term.

## Why is this bad?
A mean of microbatch means is logged in place of the loss that is minimised: tokens of a short microbatch weigh more in
it, and two runs with other microbatches cannot be compared.

## Example
```yaml
accumulation: { microbatches: 4, combine: sum_then_divide }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      metric: microbatch_mean
```

## Use instead
```yaml
accumulation: { microbatches: 4, combine: sum_then_divide }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      metric: token_mean
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.model.objective import Normaliser, Reduction
from ...rule import Rule
from ..view import View
from .term_accumulation import WHOLE_STEP


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    several = (view.integer("accumulation", "microbatches") or 1) > 1
    listed = [(key, term) for key, term in view.items("objective", "terms") if isinstance(term, dict)]
    for key, term in listed:
        normaliser, metric = str(term.get("normaliser")), str(term.get("metric"))
        if metric in FITS.get(normaliser, (metric,)) or (metric == "microbatch_mean" and not several):
            continue
        if metric in REDUCTIONS:
            yield view.finding(
                RULE,
                (*key, "metric"),
                f"term `{term.get('name')}` is divided by {normaliser} and logged as a {metric}",
                expected=" or ".join(FITS[normaliser]),
                found=metric,
                help="log the number that is minimised: return sum and denominator apart, add both up, and divide once",
            )
    for name in view.mapping("metrics"):
        whole, denominator = view.text("metrics", name, "sum"), view.text("metrics", name, "denominator")
        promised = _divisor(whole, [term for _, term in listed])
        if promised is None or denominator in (promised, "none") or denominator not in NORMALISERS:
            continue
        # A sum over tokens for each row is another number, and a whole one; a mean over microbatches is none.
        if whole == WHOLE or (several and promised in WHOLE_STEP and denominator == "microbatches"):
            of = "the objective, whose primary term" if whole == WHOLE else f"term `{whole}`, which"
            yield view.finding(
                RULE,
                ("metrics", name, "denominator"),
                f"metric `{name}` divides by {denominator} the sum of {of} is divided by {promised}",
                expected=promised,
                found=str(denominator),
            )


def _divisor(name: str | None, terms: list[Mapping[str, Any]]) -> str | None:
    """The normaliser of the one term of a name; of the primary term for the whole objective."""
    of = [
        term.get("normaliser")
        for term in terms
        if (term.get("kind", "primary") == "primary" if name == WHOLE else term.get("name") == name)
    ]
    return of[0] if len(of) == 1 and isinstance(of[0], str) and of[0] in NORMALISERS else None


WHOLE = "objective"
PLAIN = ("sum", "last", "none")
FITS: dict[str, tuple[str, ...]] = {
    "global_valid_tokens": ("token_mean", *PLAIN),
    "batch_positions": ("token_mean", *PLAIN),
    "sequences": ("sequence_mean", *PLAIN),
    "microbatches": ("microbatch_mean", *PLAIN),
    "none": ("microbatch_mean", *PLAIN),
}
"""Normaliser -> reductions of the logged value that give the number which is minimised, or none that looks like it."""
REDUCTIONS = tuple(each for each in get_args(Reduction) if each not in PLAIN)
NORMALISERS = get_args(Normaliser)


RULE = Rule(
    code="SEM016",
    name="metric-reduction",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
