"""JAX rejects the step while tracing it.

## What it does
Reports errors of JAX inside the user's step - a Python branch on a traced value, a shape that does not fit - at the
innermost line of user code.

## Why is this bad?
The step does not run at all; the contract cannot be checked further.

## Example
```python
if loss > 10.0:              # loss is traced
    loss = 10.0
```

## Use instead
```python
loss = jnp.minimum(loss, 10.0)
```

## References
- https://docs.jax.dev/en/latest/errors.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..rejection import rejection


def check(evidence: StepEvidence) -> Iterable[Finding]:
    error, graph, jaxpr = evidence.facts.error, evidence.contract.graph, evidence.facts.jaxpr
    forbidden = graph is not None and graph.dynamic_shapes == "forbid" and jaxpr is not None and jaxpr.dynamic_shapes
    if error is not None and error.phase == "lower" and forbidden:
        return  # a dimension without a size cannot be lowered: that the contract forbids it says more
    yield from rejection(RULE, evidence, sharding=False)


RULE = Rule(code="JIT201", name="step-rejected", severity="error", evidence="trace", doc=__doc__ or "", check=check)
