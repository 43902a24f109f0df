"""A token's loss depends on tokens farther back than the attention's window lets it see.

## What it does
With `batch check --probe`, where `data.attention.window` and `model.layers` are promised: changes one token at a time
and looks at the losses behind it in its document. A layer reaches `window - 1` tokens back, so all together reach
`layers * (window - 1)`; beyond that none may move, by however little.

## Why is this bad?
A model that was to have a sliding window attends to everything: its cost and its cache grow with the sequence, and it
behaves otherwise where the window is kept, such as in serving.

## Example
```python
mask = query >= key  # causal, of any distance
```

## Use instead
```python
mask = (query >= key) & (query - key < window)
```

## What stays clean
Rows that are no longer than all layers reach: nothing in them shows the window.

## References
- https://github.com/unslothai/unsloth/pull/8253
- https://github.com/keras-team/keras-hub/issues/2186
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, of_all


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch, probe, window = evidence.batch, evidence.probe, evidence.data.attention.window
    layers = getattr(evidence.contract.model, "layers", None) if evidence.contract is not None else None
    if probe is None or window is None or layers is None:
        return
    reach = layers * (window - 1)
    for moved in probe.moved:
        own = batch.span_at(moved.row, moved.column)
        if batch.segments is not None and own is None:
            continue
        end = own.stop if own is not None else (batch.shape or (0, 0))[1]
        far = moved.among(range(moved.column + reach + 1, end))
        if far is not None:
            column, count, largest = far
            yield evidence.finding(
                RULE,
                f"row {moved.row}: another token in column {moved.column} moves the loss of column {column}, and "
                f"{layers} layer{'s' * (layers != 1)} with a window of {window} reach {reach} "
                f"token{'s' * (reach != 1)} back ({of_all(count, largest)}, must be 0)",
                subject="window",
                key="data.attention.window",
                expected="0",
                found=f"{largest:.4g}",
                evidence=(f"losses read from {probe.how} of step {probe.step}",),
                help="mask keys that are a window or more behind the query, in every layer",
                details={
                    "row": moved.row,
                    "column": moved.column,
                    "moved": column,
                    "reach": reach,
                    "count": count,
                    "largest": largest,
                },
            )
            return


RULE = Rule(
    code="DAT626",
    name="window-exceeded",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
