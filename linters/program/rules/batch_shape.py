"""A batch input does not have the promised size.

## What it does
Compares the first dimension of every batch input with `batch.size`, and the second of a decoder's inputs with
`model.sequence`.

## Why is this bad?
Batch size and sequence length set the learning-rate schedule, the tokens per step and most of the activation memory.
A contract for 16 x 128 says nothing about a step fed 32 x 128.

## Example
```yaml
batch: { size: 16 }         # tokens are int32[32,128]
```

## Use instead
Feed the promised batch, or correct the contract.

## References
- https://arxiv.org/abs/1812.06162
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import DenseModel
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    rows = [row for row in evidence.tensors.rows if row.class_ == "batch" and row.global_shape]
    batch, model = evidence.contract.batch, evidence.contract.model
    if batch is not None:
        yield from _dimension(evidence, rows, 0, batch.size, "batch.size")
    if isinstance(model, DenseModel):
        yield from _dimension(
            evidence, [r for r in rows if len(r.global_shape) > 1], 1, model.sequence, "model.sequence"
        )


def _dimension(evidence: StepEvidence, rows: list, dimension: int, expected: int, key: str) -> Iterable[Finding]:
    wrong = [row for row in rows if row.global_shape[dimension] != expected]
    if not wrong:
        return
    found = wrong[0].global_shape[dimension]
    yield RULE.finding(
        f"batch input {wrong[0].path} has {found:,} in dimension {dimension}, promised {expected:,}",
        subject=key,
        location=evidence.place(key),
        key=key,
        expected=f"{expected}",
        found=f"{found}",
        evidence=tuple(f"{row.path}: {list(row.global_shape)}" for row in wrong),
        help="feed the promised batch, or correct the contract",
    )


RULE = Rule(code="DAT201", name="batch-shape", severity="error", evidence="program", doc=__doc__ or "", check=check)
