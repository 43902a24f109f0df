"""An argument is promised to be donated, but the program keeps its buffer.

## What it does
Checks that every array of the arguments in `step.<name>.donate` is donated at the jit border and that the compiled
program reuses its buffer for an output.

## Why is this bad?
Without the reuse, old and new state live side by side: parameters and optimizer state count twice in device memory.

## Example
```python
step = jax.jit(train_step)
```

## Use instead
```python
step = jax.jit(train_step, donate_argnums=0)
```

## References
- https://docs.jax.dev/en/latest/faq.html#buffer-donation
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.section
    if section is None or not section.donate:
        return
    key = f"{evidence.step_key}.donate"
    for argument in section.donate:
        leaves = [leaf for leaf in evidence.facts.arguments if leaf.argument == argument]
        kept = [leaf for leaf in leaves if not leaf.aliased and leaf.parameter is not None]
        if not leaves:
            message, found = (
                f"the step has no array argument {argument!r}, which the contract promises to donate",
                "no such argument",
            )
        elif kept:
            size = sum(leaf.bytes or 0 for leaf in kept)
            why = "is not donated" if not any(leaf.donated for leaf in kept) else "is donated, but not reused"
            message = (
                f"{argument} {why}: {len(kept)} of {len(leaves)} arrays ({format_bytes(size)}) "
                "are kept beside their successors"
            )
            found = why
        else:
            continue
        yield RULE.finding(
            message,
            subject=argument,
            location=evidence.place(key),
            key=key,
            expected="every array aliased with an output",
            found=found,
            evidence=tuple(f"{leaf.path}: {leaf.shape} {leaf.dtype}" for leaf in kept[:20]),
            help="donate it at the jit border, and return an array of the same shape, dtype and placement",
            details={"argument": argument},
        )


RULE = Rule(
    code="MEM204", name="donation-not-aliased", severity="error", evidence="program", doc=__doc__ or "", check=check
)
