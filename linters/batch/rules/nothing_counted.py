"""A row, or the whole batch, has no target that counts.

## What it does
Sums mask and weights by row and over the batch, without either the targets that are no id below 0. A batch without
rows or columns is one too.

## Why is this bad?
A mean over no target is 0 / 0: one NaN loss, or a gradient of zero that still moves every moment of the optimizer. A
row that counts nothing is computed in vain; a device whose rows all count nothing breaks a mean over devices.

## Example
```python
loss_mask = jnp.zeros((8, 128))
```

## Use instead
```python
loss_mask = (segment_ids != 0).astype(jnp.float32)
```

## References
- https://github.com/NVIDIA-NeMo/Automodel/issues/3796
- https://github.com/allenai/OLMo-core/pull/452
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import in_a_line
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    counted, shape = evidence.batch.counted, evidence.batch.shape
    if shape is not None and 0 in shape:
        yield evidence.finding(
            RULE,
            f"the batch is {shape[0]:,} x {shape[1]:,}: it holds no token, and the mean of its loss is 0 / 0",
            subject="batch",
            severity="error",
            expected="a token",
            found="none",
        )
        return
    if counted is None or not counted.size:
        return
    empty = ~(counted != 0).any(axis=1)
    if not empty.any():
        return
    whole = bool(empty.all())
    rows = [int(row) for row in empty.nonzero()[0]]
    yield evidence.finding(
        RULE,
        "no target of the batch counts in the loss: its mean is 0 / 0"
        if whole
        else f"{len(rows):,} of {len(empty):,} rows count nothing in the loss ({in_a_line(map(str, rows), 8)})",
        subject=evidence.batch.counted_by,
        severity="error" if whole else "warning",
        expected="a target that counts in every row",
        found="0",
        evidence=evidence.inferred,
        details={"rows": rows},
    )


RULE = Rule(
    code="DAT610",
    name="nothing-counted",
    severity="warning",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
