"""JAX rejects a placement in the step.

## What it does
Reports sharding errors inside the user's step - a dimension that its axes do not divide, an axis that is not in the
mesh, an ambiguous contraction - at the innermost line of user code.

## Why is this bad?
The step does not compile on this mesh. On a larger mesh the same line often fails although a small one passed.

## Example
```python
# data has 8 devices
tokens = jax.ShapeDtypeStruct((12, 128), jnp.int32, sharding=NamedSharding(mesh, P("data")))
```

## Use instead
Use sizes that the mesh axes divide, and axis names that the mesh has.

## References
- https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
- https://github.com/jax-ml/jax/issues/26946
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..rejection import rejection


def check(evidence: StepEvidence) -> Iterable[Finding]:
    yield from rejection(RULE, evidence, sharding=True)


RULE = Rule(code="SHD201", name="sharding-rejected", severity="error", evidence="trace", doc=__doc__ or "", check=check)
