"""The sharded loss is not the loss of one device.

## What it does
Runs the step on the mesh and on one device with the same values and compares the loss with the bound of rounding. The
ratio of error to bound is at most 1 for a correct step; a wrong normaliser reaches 10 and more.

## Why is this bad?
A loss divided by each shard's own token count, or counted twice on replicas, trains another objective. It still
falls.

## Example
```python
# inside shard_map; then a mean over devices
loss = local_sum / local_tokens
```

## Use instead
```python
loss = jax.lax.psum(local_sum, "data") / jax.lax.psum(local_tokens, "data")
```

## References
- https://huggingface.co/blog/gradient_accumulation
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..comparison import differs


def check(evidence: StepEvidence) -> Iterable[Finding]:
    yield from differs(RULE, evidence, ("loss",), "loss")


RULE = Rule(code="SEM301", name="loss-differs", severity="error", evidence="run", doc=__doc__ or "", check=check)
