"""The step's static arguments are not those of the contract.

## What it does
Compares the arguments that are compile-time constants with `step.<name>.static`.

## Why is this bad?
Every new value of a static argument is a new compile. One that nobody promised is a recompile waiting for a schedule.

## Example
```python
step = jax.jit(train_step, static_argnames="lr")
```

## Use instead
Pass numbers that change as arrays; keep static what decides shapes.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.section
    if section is None or section.static is None:
        return
    promised, found = sorted(section.static), sorted(evidence.facts.static)
    if promised == found:
        return
    key = f"{evidence.step_key}.static"
    yield RULE.finding(
        f"the step's static arguments are {found or 'none'}, promised {promised or 'none'}",
        subject="static",
        location=evidence.place(key),
        key=key,
        expected=", ".join(promised) or "none",
        found=", ".join(found) or "none",
        help="pass values that change as arrays, or promise the static argument",
    )


RULE = Rule(code="JIT207", name="static-arguments", severity="error", evidence="trace", doc=__doc__ or "", check=check)
