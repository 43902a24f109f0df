"""The sharded gradients are not the gradients of one device.

## What it does
Compares every gradient leaf (or Adam's first moment after one step) between the mesh and one device, as a norm over
the whole leaf, with the bound of rounding.

## Why is this bad?
A gradient reduction that is missing, doubled or wrongly weighted moves the parameters somewhere else, on every device
differently. The loss of the first step cannot show it.

## Example
```python
grads = jax.grad(loss)(params, shard)        # no psum over data
```

## Use instead
```python
grads = jax.lax.psum(jax.grad(loss)(params, shard), "data")
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/1446
- https://arxiv.org/abs/2506.15961
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..comparison import differs


def check(evidence: StepEvidence) -> Iterable[Finding]:
    yield from differs(RULE, evidence, ("gradient", "first_moment"), "gradients")


RULE = Rule(code="SEM302", name="gradient-differs", severity="error", evidence="run", doc=__doc__ or "", check=check)
