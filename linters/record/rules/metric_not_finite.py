"""A metric was NaN or infinite for a part of the run.

## What it does
Counts the values that are not finite. Mean, percentiles and extremes in a record are of those that are.

## Why is this bad?
A mean over the steps that went well hides those that did not.

## Example
```json
{"step": 7, "loss": "NaN"}
```

## Use instead
```json
{"step": 7, "loss": 2.31}
```

## References
- https://docs.jax.dev/en/latest/debugging/flags.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    for name, metric in sorted(evidence.record.metrics.items()) if evidence.record is not None else ():
        if metric.not_finite:
            yield evidence.finding(
                RULE,
                f"{name} is not finite in {metric.not_finite:,} of {metric.count:,} values",
                subject=name,
                key=f"metrics.{name}",
                expected="finite values",
                found=f"{metric.not_finite:,} NaN or infinite",
                help="find the first step that has one, and what changed there: `jax_debug_nans` stops at it",
            )


RULE = Rule(
    code="EXP611",
    name="metric-not-finite",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
