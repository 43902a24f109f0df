"""The loss is NaN or infinite while the step runs.

## What it does
Reports the steps of the executed loop whose loss is not finite. Such a loss cannot be compared with one device either:
there it is not finite as well, or the two differ and that is reported instead.

## Why is this bad?
Nothing can be said about a step that computes NaN: any two programs agree on it. Values that were drawn for a step
without `example` may be the cause, hence a warning.

## Example
```python
loss = jnp.log(jnp.sum(mask) - jnp.sum(jnp.ones_like(mask)))
```

## Use instead
Give the step `example(i)` with values as training sees them, and keep logarithms and divisions away from zero.

## References
- https://docs.jax.dev/en/latest/debugging/flags.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    run = evidence.run
    if run is None or not run.not_finite:
        return
    key = evidence.step_key
    yield RULE.finding(
        f"the loss is not finite in {len(run.not_finite)} of {run.steps} steps, first in step {run.not_finite[0]}",
        subject=evidence.name,
        location=evidence.place(key),
        key=key,
        expected="a finite loss",
        found="NaN or infinity",
        help="give the step `example(i)` with values as training sees them; find the operation with JAX_DEBUG_NANS=1",
    )


RULE = Rule(code="SEM305", name="loss-not-finite", severity="warning", evidence="run", doc=__doc__ or "", check=check)
