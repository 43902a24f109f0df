"""A term of the objective does not say what it is divided by.

## What it does
Asks every term for its weight, its normaliser, how microbatches make it up (its own `accumulation`, or
`accumulation.combine` for all) and how its logged value is reduced.

## Why is this bad?
Most trainers that are wrong under accumulation are right for the term that somebody thought about. A term without a
normaliser gets the one of its neighbour.

## Example
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: loss, weight: 1.0, normaliser: global_valid_tokens, metric: token_mean }
    - { name: balance, kind: router, weight: 0.01, metric: none }
```

## Use instead
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: loss, weight: 1.0, normaliser: global_valid_tokens, metric: token_mean }
    - { name: balance, kind: router, weight: 0.01, normaliser: microbatches, metric: none }
```

## References
- https://github.com/huggingface/transformers/issues/35203
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    whole = view.get("accumulation", "combine") is not None
    for key, term in view.items("objective", "terms") if view.complete else ():
        given = term if isinstance(term, dict) else {}
        missing = [name for name in PARTS if given.get(name) is None and not (name == "accumulation" and whole)]
        if missing and isinstance(term, dict):
            name = given.get("name", "a term")
            parts = [", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing
            yield view.finding(
                RULE,
                key,
                f"term `{name}` does not say its {' and '.join(parts)}",
                expected="; ".join(f"{name}: {PARTS[name]}" for name in missing),
                found=", ".join(given),
                help="add " + ", ".join(f"`{name}`" for name in missing),
            )


PARTS = {
    "weight": "its factor in the loss",
    "normaliser": "global_valid_tokens, microbatches, sequences, batch_positions, experts or none",
    "accumulation": "sum_then_divide, divide_then_sum or mean_of_microbatches",
    "metric": "token_mean, microbatch_mean, sequence_mean, sum, last or none",
}
"""What makes a term complete."""


RULE = Rule(
    code="SEM004",
    name="incomplete-term",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
