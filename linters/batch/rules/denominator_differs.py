"""The loss is divided by another number than the targets that it counts.

## What it does
With `batch check --probe`: compares the denominator of the first of the step's `loss_terms` with the weights of the
batch's targets, added up. A contract that promises another normaliser for it is not held to this.

## Why is this bad?
Padding in the denominator only makes the loss and its gradient smaller by the share of padding: two runs with other
buckets or other documents cannot be compared, and the learning rate means something else in each step.

## Example
```python
loss = (losses * mask).sum() / mask.size
```

## Use instead
```python
loss = (losses * mask).sum() / mask.sum()
```

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    probe, counted = evidence.probe, evidence.batch.counted
    if probe is None or counted is None or not probe.terms:
        return
    name, (_, denominator) = next(iter(probe.terms.items()))
    wanted = float(counted.sum())
    if abs(denominator - wanted) <= ROUNDING * max(wanted, 1.0) or _otherwise(evidence, name):
        return
    ratio = wanted / denominator if denominator else 0.0
    what = f"; {denominator:,.10g} is the size of the batch" if denominator == counted.size else ""
    yield evidence.finding(
        RULE,
        f"the term {name} of the loss is divided by {denominator:,.10g}, and the targets that count add up to "
        f"{wanted:,.10g}{what}: loss and gradient are {ratio:.4g} x what they mean",
        subject=name,
        expected=f"{wanted:,.10g}",
        found=f"{denominator:,.10g}",
        evidence=(f"loss_terms of step {probe.step} on this batch",),
        help="divide by the sum of the mask; where another number is meant, promise it in `objective`",
        details={"term": name, "denominator": denominator, "counted": wanted},
    )


def _otherwise(evidence: BatchEvidence, name: str) -> bool:
    """Whether the contract promises another normaliser of this term."""
    objective = getattr(evidence.contract, "objective", None)
    for term in getattr(objective, "terms", None) or ():
        if getattr(term, "name", None) == name:
            return getattr(term, "normalizer", None) not in (None, "global_valid_tokens")
    return False


ROUNDING = 1e-6
"""Of sums in float32."""


RULE = Rule(
    code="DAT624",
    name="denominator-differs",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
