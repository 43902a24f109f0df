"""The loss is divided by another number than the targets that it counts.

## What it does
With `batch check --probe`: compares the denominator of the first of the step's `loss_terms` with the weights of the
batch's targets, added up; with another normaliser in the contract's `objective`, with what that is on this batch.

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
from typing import TYPE_CHECKING

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence

if TYPE_CHECKING:
    import numpy


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    probe, counted = evidence.probe, evidence.batch.counted
    if probe is None or counted is None or not probe.terms:
        return
    name, (_, denominator) = next(iter(probe.terms.items()))
    promised = _wanted(evidence, name, counted)
    if promised is None or abs(denominator - promised[0]) <= ROUNDING * max(promised[0], 1.0):
        return
    wanted, words = promised
    ratio = wanted / denominator if denominator else 0.0
    what = f"; {denominator:,.10g} is the size of the batch" if denominator == counted.size else ""
    yield evidence.finding(
        RULE,
        f"the term {name} of the loss is divided by {denominator:,.10g}, and {words} "
        f"{wanted:,.10g}{what}: loss and gradient are {ratio:.4g} x what they mean",
        subject=name,
        expected=f"{wanted:,.10g}",
        found=f"{denominator:,.10g}",
        evidence=(f"loss_terms of step {probe.step} on this batch", *evidence.inferred),
        help="divide by the sum of the mask, or promise another `normaliser` of the term in `objective`",
        details={"term": name, "denominator": denominator, "counted": wanted},
    )


def _wanted(evidence: BatchEvidence, name: str, counted: numpy.ndarray) -> tuple[float, str] | None:
    """What the term is to be divided by on this batch, and in words; None where its normaliser is none of the batch."""
    objective = evidence.contract.objective if evidence.contract is not None else None
    term = objective.term(name) if objective is not None else None
    normaliser = term.normaliser if term is not None else None
    if normaliser in (None, "global_valid_tokens"):
        return float(counted.sum()), "the targets that count add up to"
    if normaliser == "batch_positions":
        return float(counted.size), "the positions of the batch are"
    return (float(counted.shape[0]), "its rows are") if normaliser == "sequences" else None


ROUNDING = 1e-6
"""Of sums in float32."""


RULE = Rule(
    code="DAT624",
    name="batch-denominator",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
