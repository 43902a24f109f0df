"""The learning rate is given twice, by the schedule and in the chain, with different numbers.

## What it does
Compares `rate` of `scale_by_learning_rate` with `optimizer.schedule.peak`.

## Why is this bad?
One of both is not what the run does, and who reads the contract sees either.

## Example
```yaml
optimizer:
  name: adam
  schedule: { kind: constant, peak: 1.0e-3 }
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: scale_by_learning_rate, rate: 3.0e-3 }
```

## Use instead
```yaml
optimizer:
  name: adam
  schedule: { kind: constant, peak: 1.0e-3 }
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: scale_by_learning_rate }
```

## References
- https://optax.readthedocs.io/en/latest/api/transformations.html#optax.scale_by_learning_rate
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View, is_number


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    peak = view.get("optimizer", "schedule", "peak") if view.mapping("optimizer", "schedule") else None
    for key, each in view.items("optimizer", "chain") if is_number(peak) else ():
        rate = each.get("rate") if isinstance(each, dict) and each.get("kind") == "scale_by_learning_rate" else None
        if is_number(rate) and rate != peak:
            yield view.finding(
                RULE,
                (*key, "rate"),
                f"the chain multiplies by a learning rate of {rate:g}, and the schedule has a peak of {peak:g}",
                expected=f"{peak:g}, or no `rate`",
                found=f"{rate:g}",
                help="leave `rate` out: the schedule gives it",
            )


RULE = Rule(
    code="SEM017",
    name="rate-disagrees",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
