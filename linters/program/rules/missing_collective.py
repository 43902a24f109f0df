"""A collective that the contract promises is not in the program.

## What it does
Reports each kind and set of mesh axes whose executions or elements fall short of the promise.

## Why is this bad?
A gradient reduction that is missing gives a step that runs, faster than before, and trains a different model on every
device. A missing parameter gather often means that the parameter was never sharded.

## Example
```python
# inside shard_map, no psum over data follows
grads = jax.grad(loss)(params, shard)
```

## Use instead
```python
grads = jax.lax.psum(jax.grad(loss)(params, shard), "data")
```

## References
- https://github.com/jax-ml/jax/issues/3970
- https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import differences
from ..wording import axes_text, total_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for difference in differences(evidence):
        promise = difference.promised
        if difference.problem != "missing" or promise is None:
            continue
        instead = next((row.kind for row in difference.rows), None)
        has = f"has {instead} instead" if instead else f"has {total_text(difference.count, difference.elements)}"
        yield RULE.finding(
            f"{difference.kind} over {axes_text(difference.axes)} is promised "
            f"({total_text(promise.count, promise.elements)}), "
            f"the program {has}",
            subject=f"{difference.kind}:{','.join(difference.axes)}",
            location=evidence.place(promise.key),
            key=promise.key,
            expected=total_text(promise.count, promise.elements),
            found=instead or total_text(difference.count, difference.elements),
            evidence=promise.explanation,
            help="find the reduction or gather that the step lost, or correct the promise",
            details={"kind": difference.kind, "axes": list(difference.axes)} | difference.beyond,
        )


RULE = Rule(
    code="SHD205",
    name="missing-collective",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
