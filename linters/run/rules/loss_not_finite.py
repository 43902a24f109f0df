"""The loss or a gradient is NaN or infinite while the step runs.

## What it does
Reports the steps of the executed loop whose loss is not finite, and gradients that are not finite in the first step.
Where the run on one device has the same value not finite too, the sharding is not at fault: a warning, which says so.
Otherwise it is an error: in a later step, which one device does not run, or where nothing could be compared. A value
that is finite on one device alone is reported as `loss-differs` or `gradient-differs`.

## Why is this bad?
One NaN reaches every parameter with the next update, and the run is over. It also hides every other fault of the
values: any two programs agree on NaN.

## Example
```python
loss = jnp.log(jnp.sum(mask) - jnp.sum(jnp.ones_like(mask)))
```

## Use instead
Keep logarithms and divisions away from zero, and give the step `example(i)` with values as training sees them: those
drawn for a step without it may lie where it is not defined.

## References
- https://docs.jax.dev/en/latest/debugging/flags.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.manifest import NOT_FINITE_EITHER
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule

ROLES = ("loss ", "gradient ", "first moment ")
FIRST = 0
"""The step whose values one device computes too."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    run = evidence.run
    if run is None:
        return
    either = [item.what for item in run.not_compared if item.reason == NOT_FINITE_EITHER]
    shared = [what for what in either if what.startswith(ROLES)]
    if not run.not_finite and not shared:
        return
    key = evidence.step_key
    alike = bool(shared) and (not run.not_finite or run.not_finite[0] == FIRST)
    if run.not_finite:
        said = (
            f"the loss is not finite in {len(run.not_finite)} of {run.steps} steps, first in step {run.not_finite[0]}"
        )
    else:
        more = f" and {len(shared) - 1} more are" if len(shared) > 1 else " is"
        said = f"{shared[0]}{more} not finite in the first step"
    yield RULE.finding(
        f"{said}; one device computes the same" if alike else said,
        subject=evidence.name,
        severity="warning" if alike else "error",
        location=evidence.place(key),
        key=key,
        expected="finite values",
        found="NaN or infinity",
        evidence=shown(f"{what}: {NOT_FINITE_EITHER}" for what in either),
        help="give the step `example(i)` with values as training sees them; find the operation with JAX_DEBUG_NANS=1",
    )


RULE = Rule(code="SEM305", name="loss-not-finite", severity="error", evidence="run", doc=__doc__ or "", check=check)
