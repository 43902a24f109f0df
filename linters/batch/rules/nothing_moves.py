"""No loss moves when a token is changed.

## What it does
With `batch check --probe`: tells where none of the changed tokens of text moved any loss.

## Why is this bad?
The loss does not depend on the batch it is given: the step trains on something else, or the hook that gives its losses
does not take part. Every other probe then passes, and proves nothing.

## Example
```python
def token_losses(state, batch):
    return cross_entropy(model(state.params, EXAMPLE["tokens"]), batch["targets"])
```

## Use instead
```python
def token_losses(state, batch):
    return cross_entropy(model(state.params, batch["tokens"]), batch["targets"])
```

## References
- https://github.com/huggingface/nanoVLM/pull/204
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    probe, segments = evidence.probe, evidence.batch.segments
    if probe is None:
        return
    text = [moved for moved in probe.moved if segments is None or segments[moved.row, moved.column]]
    if text and not any(moved.losses for moved in text):
        yield evidence.finding(
            RULE,
            f"{len(text)} tokens of the batch were changed one by one, and no loss of their rows moved",
            subject="losses",
            expected="the losses of the changed documents",
            found="none",
            evidence=(f"losses read from {probe.how} of step {probe.step}",),
            help="see that the step's hook reads the tokens it is given",
        )


RULE = Rule(
    code="DAT625",
    name="nothing-moves",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
