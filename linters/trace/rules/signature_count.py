"""The declared inputs need more executables than promised.

## What it does
Traces the step for every declared signature and counts the different programs, against `step.<name>.compiles`.

## Why is this bad?
Each new shape is a compile in the middle of the run, minutes on a large program, on every host at once.

## Example
```yaml
signatures: { tokens: [[16, 128], [16, 96]] }
compiles: 1
```

## Use instead
Pad the last batch to the full shape, or promise the compiles that the loop needs.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.section
    if section is None or section.compiles is None:
        return
    programs = {signature.program for signature in evidence.facts.signatures}
    if len(programs) <= section.compiles:
        return
    key = f"{evidence.step_key}.compiles"
    yield RULE.finding(
        f"the declared signatures need {len(programs)} executables, promised {section.compiles}",
        subject="signatures",
        location=evidence.place(key),
        key=key,
        expected=f"{section.compiles}",
        found=f"{len(programs)}",
        evidence=tuple(f"{s.shapes}: {s.difference or 'first program'}" for s in evidence.facts.signatures),
        help="pad inputs to one shape, or promise the compiles that the loop needs",
    )


RULE = Rule(code="JIT206", name="signature-count", severity="error", evidence="trace", doc=__doc__ or "", check=check)
