"""A declared input signature cannot be traced.

## What it does
Traces the step with every signature of `step.<name>.signatures` and reports those that JAX rejects.

## Why is this bad?
The loop will feed these shapes, and the step fails at the first that does not fit, perhaps hours into a run.

## Example
```yaml
# 64 tokens against 128 targets
signatures: { tokens: [[16, 128], [16, 64]], targets: [[16, 128]] }
```

## Use instead
Give each input as many shapes as there are signatures: the i-th of all belong together.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..signatures import undeclared

REJECTED = "error:"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    if undeclared(evidence):
        return  # inputs that do not belong together fail for that reason
    key = f"{evidence.step_key}.signatures"
    for signature in evidence.facts.signatures:
        if not signature.program.startswith(REJECTED):
            continue
        shapes = ", ".join(f"{name} {shape}" for name, shape in signature.shapes.items())
        reason = next(iter((signature.difference or signature.program).strip().splitlines()))
        yield RULE.finding(
            f"the signature {shapes} cannot be traced: {reason}",
            subject=shapes,
            location=evidence.place(key),
            key=key,
            found=signature.program.removeprefix(REJECTED),
            evidence=(signature.difference,) if signature.difference else (),
            help="declare shapes that the step accepts together",
        )


RULE = Rule(
    code="JIT208", name="signature-rejected", severity="error", evidence="trace", doc=__doc__ or "", check=check
)
