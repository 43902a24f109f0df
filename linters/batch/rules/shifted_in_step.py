"""The step shifts targets, and the contract says who does: the batch, or the model.

## What it does
With `batch check --probe`, where `data.shift` is promised: puts another target in one column and looks at whose loss
moves. With `shift: batch` it is the loss of that column, with `shift: model` that of the column before.

## Why is this bad?
A model that shifts targets which the batch has shifted learns to predict the token after the next, and one that does
not shift at all learns to copy. No look at the batch shows either: the batch is right.

## Example
```python
targets = jnp.roll(batch["targets"], -1, axis=1)  # the loader has shifted them
```

## Use instead
```python
targets = batch["targets"]
```

## What stays clean
Losses that no change of a target moves, which another rule is about (dead-field); contracts that do not say who shifts.

## References
- https://github.com/huggingface/transformers/issues/32944
- https://github.com/huggingface/transformers/issues/47394
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence

_PROMISED = {"batch": 0, "model": 1}


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    probe, shift = evidence.probe, evidence.data.shift
    if probe is None or shift is None:
        return
    for answered in probe.answered:
        if len(answered.losses) != 1:
            continue  # more than one loss reads a target: no shift of it
        (moved,) = answered.losses
        by = answered.column - moved
        if by != _PROMISED[shift]:
            yield evidence.finding(
                RULE,
                f"row {answered.row}: another target in column {answered.column} moves the loss of column "
                f"{moved}: the step {_does(by)}, and `shift: {shift}` promises that it "
                f"{_does(_PROMISED[shift])}",
                subject="shift",
                key="data.shift",
                expected=f"the loss of column {answered.column - _PROMISED[shift]}",
                found=f"the loss of column {moved}",
                evidence=(f"losses read from {probe.how} of step {probe.step}",),
                help="shift once: in the loader, or in the model, and say which in the contract",
                details={"row": answered.row, "column": answered.column, "by": by},
            )
            return


def _does(by: int) -> str:
    if by == 0:
        return "takes targets as they come"
    return f"shifts them by {abs(by)}" if by > 0 else f"shifts them back by {abs(by)}"


RULE = Rule(
    code="DAT627",
    name="shifted-in-step",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
