"""On another mesh the restored state gives a loss that rounding does not explain.

## What it does
With `checkpoint resume`, works out the loss of the next step right behind a restore onto another mesh, and compares it
with the mesh before by the bound that `verify --run` has: how far the loss moves when all inputs do by a rounding
error, and how far two orders of its sum can lie apart.

## Why is this bad?
The state is the same to the bit, so the step is not the same function on this mesh: a sum is missing, or taken twice.

## Example
```python
mean = local_sum / local_tokens
loss = jax.lax.pmean(mean, "data")   # a shard with few tokens weighs as much
```

## Use instead
```python
tokens = jax.lax.psum(local_tokens, "data")
loss = jax.lax.psum(local_sum, "data") / tokens
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/1464
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import ResumeEvidence, words


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    before = evidence.facts.unbroken
    for index, leg in enumerate(evidence.facts.meshes):
        compared = leg.compared
        if compared is not None and (compared.ratio is None or compared.ratio > 1):
            times = f"{compared.ratio:.3g} times what rounding explains" if compared.ratio is not None else "not finite"
            yield evidence.finding(
                RULE,
                f"behind step {leg.restored:,} the loss is {compared.sharded} on {words(leg.mesh)} and "
                f"{compared.reference} on {words(before.mesh)}: {times}",
                subject=words(leg.mesh),
                expected=str(compared.reference),
                found=str(compared.sharded),
                evidence=(compared.method,),
                help="look for the mesh axis that the loss depends on: `contract-lint verify --run --semantics`",
                details={"mesh": index},
            )
        before = leg


RULE = Rule(
    code="CKP707",
    name="mesh-loss",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
