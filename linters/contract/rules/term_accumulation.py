"""How microbatches make up a term contradicts what it is divided by.

## What it does
With more than one microbatch, reports `mean_of_microbatches` for a term whose normaliser is counted over the whole
step, and a sum for one that is divided by nothing.

## Why is this bad?
A mean of microbatch means is no division by the tokens of the step: a token in a short microbatch weighs more. A sum
that nothing divides grows with the number of microbatches.

## Example
```yaml
accumulation: { microbatches: 4 }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      accumulation: mean_of_microbatches
      metric: token_mean
```

## Use instead
```yaml
accumulation: { microbatches: 4 }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      accumulation: sum_then_divide
      metric: token_mean
```

## References
- https://github.com/huggingface/transformers/issues/35203
- https://github.com/meta-pytorch/torchtune/issues/1875
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    if (view.integer("accumulation", "microbatches") or 1) < 2:
        return
    for key, term in view.items("objective", "terms"):
        given = term if isinstance(term, dict) else {}
        own = given.get("accumulation")
        combine = own or view.get("accumulation", "combine")
        place = (*key, "accumulation") if own else ("accumulation", "combine")
        normaliser = given.get("normaliser")
        if combine == "mean_of_microbatches" and normaliser in WHOLE_STEP:
            yield view.finding(
                RULE,
                place,
                f"term `{given.get('name')}` is a mean of microbatch means and is divided by {normaliser} of the whole "
                "step: it cannot be both",
                subject=f"{given.get('name')}",
                expected="sum_then_divide or divide_then_sum",
                found="mean_of_microbatches",
            )
        elif combine in ("sum_then_divide", "divide_then_sum") and normaliser == "none":
            yield view.finding(
                RULE,
                place,
                f"term `{given.get('name')}` is added up over microbatches and divided by nothing: it grows with "
                "their number",
                subject=f"{given.get('name')}",
                expected="mean_of_microbatches, or a normaliser",
                found=str(combine),
            )


WHOLE_STEP = ("global_valid_tokens", "sequences", "batch_positions")
"""Normalisers that are counted once for a whole step."""


RULE = Rule(
    code="SEM006",
    name="term-accumulation",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
