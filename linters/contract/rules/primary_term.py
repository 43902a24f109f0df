"""The objective has no term that it is for, or one that is not minimised.

## What it does
Reports an objective in which no term is of kind `primary`, and a primary term whose weight is 0 or below it.

## Why is this bad?
A primary term of weight 0 trains nothing, and one below 0 is maximised: a sign that was meant for another term. Where
no term is primary, nothing says which number the metrics and the evaluation follow.

## Example
```yaml
objective:
  terms:
    - name: cross_entropy
      kind: primary
      weight: -1.0
      normaliser: global_valid_tokens
      metric: token_mean
```

## Use instead
```yaml
objective:
  terms:
    - name: cross_entropy
      kind: primary
      weight: 1.0
      normaliser: global_valid_tokens
      metric: token_mean
```

## References
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.model.objective import TermKind
from ...rule import Rule
from ..view import View, is_number


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    listed = [(key, term) for key, term in view.items("objective", "terms") if isinstance(term, dict)]
    kinds = [str(term.get("kind", "primary")) for _, term in listed]
    if listed and OTHERS.issuperset(kinds) and view.complete:
        yield view.finding(
            RULE,
            ("objective", "terms"),
            "no term of the objective is the primary one",
            expected="one term of kind primary",
            found=", ".join(kinds),
            help="say `kind: primary` of the term that the model is for",
        )
    for (key, term), kind in zip(listed, kinds, strict=True):
        weight = term.get("weight")
        if kind == "primary" and is_number(weight) and weight <= 0:
            yield view.finding(
                RULE,
                (*key, "weight"),
                f"the primary term `{term.get('name')}` has a weight of {weight:g}: it is "
                f"{'maximised' if weight else 'not trained'}",
                expected="a weight above 0",
                found=f"{weight:g}",
            )


OTHERS = {*get_args(TermKind)} - {"primary"}
"""Kinds of terms that stand beside the primary one; another word may have been meant to be it."""


RULE = Rule(
    code="SEM015",
    name="primary-term",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
