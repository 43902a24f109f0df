"""Gradients of microbatches are added up in another dtype than promised.

## What it does
Finds the loop over microbatches in the traced step and reads the dtype of what it carries in the shapes of the
parameters; `accumulation.dtype` is the promise.

## Why is this bad?
bfloat16 has 8 significant bits: 256 gradients of 2^-9 on top of 1 leave 1. The sum stands still, and the loss of one
step does not show it.

## Example
```python
zero = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.bfloat16), params)
grads, _ = jax.lax.scan(accumulate, zero, microbatches)
```

## Use instead
```python
zero = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
```

## References
- https://github.com/deepspeedai/DeepSpeed/issues/2768
- https://github.com/linkedin/Liger-Kernel/pull/830
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts, section = evidence.semantics, evidence.contract.accumulation
    if facts is None or section is None or section.dtype is None or not facts.accumulators:
        return
    if any(dtype != section.dtype for dtype in facts.accumulators):
        yield RULE.finding(
            f"step `{evidence.name}` adds up the gradients of its microbatches in {' and '.join(facts.accumulators)}, "
            f"promised is {section.dtype}",
            subject=evidence.name,
            location=evidence.place("accumulation.dtype"),
            key="accumulation.dtype",
            expected=section.dtype,
            found=", ".join(facts.accumulators),
            help="make the first value of the loop's carry in the promised dtype, and cast gradients before adding",
        )


RULE = Rule(
    code="SEM809", name="accumulator-dtype", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
