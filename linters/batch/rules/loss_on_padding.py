"""The loss counts padding.

## What it does
Finds targets that count (mask and weight are not 0) at padding, or that are the padding id where that id is used for
nothing else.

## Why is this bad?
The model learns to predict padding, and the mean is divided by tokens that are none: it changes with the share of
padding, so runs with other bucket sizes cannot be compared.

## Example
```python
loss_mask = jnp.ones_like(targets)
```

## Use instead
```python
loss_mask = jnp.arange(targets.shape[1]) < lengths[:, None] - 1
```

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch = evidence.batch
    counted, segments = batch.counted, batch.segments
    if counted is None or segments is None or evidence.data.counted.padding:
        return
    wrong = (segments == 0) & (counted != 0)
    targets = batch.get("targets")
    if targets is not None and batch.pad_id is not None and batch.pad_id != batch.eos_id:
        wrong |= (targets == batch.pad_id) & (counted != 0)
    if not wrong.any():
        return
    total = int((counted != 0).sum())
    yield evidence.finding(
        RULE,
        f"{int(wrong.sum()):,} of {total:,} targets that count in the loss are padding (first: {at(first(wrong))})",
        subject=batch.name("loss_mask"),
        key="data.counted.padding" if evidence.loaded is not None else None,
        confidence="certain" if batch.segments_are_certain else "likely",
        expected="0 at padding",
        found=f"{float(counted[first(wrong)]):g}",
        evidence=tuple(rows_of(wrong)),
        details={"count": int(wrong.sum()), "counted": total, "first": list(first(wrong))},
    )


RULE = Rule(
    code="DAT608",
    name="loss-on-padding",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
