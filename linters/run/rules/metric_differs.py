"""A metric of the sharded step is not the metric of one device.

## What it does
Compares every scalar metric between the mesh and one device with the bound of rounding.

## Why is this bad?
Decisions are made on metrics. One that counts each replica, or only the first shard, reports another run.

## Example
```python
# inside shard_map: the tokens of one shard
metrics = {"tokens": jnp.sum(mask)}
```

## Use instead
```python
metrics = {"tokens": jax.lax.psum(jnp.sum(mask), "data")}
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..comparison import differs


def check(evidence: StepEvidence) -> Iterable[Finding]:
    yield from differs(RULE, evidence, ("metric",), "metrics")


RULE = Rule(code="SEM303", name="metric-differs", severity="error", evidence="run", doc=__doc__ or "", check=check)
