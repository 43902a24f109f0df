"""The step is built for an input shape that the contract does not declare.

## What it does
Looks for the shape of each input that `step.<name>.signatures` names among the shapes declared for it.

## Why is this bad?
Memory, collectives and executables are judged on the program the step was built for. If the loop feeds other shapes,
none of that is about what will run.

## Example
```yaml
# the step's tokens are int32[32,64]
signatures: { tokens: [[32, 128]] }
```

## Use instead
Declare every shape the loop feeds, or build the step with the promised one.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ...cut import in_a_line
from ...evidence import StepEvidence
from ...rule import Rule
from ..signatures import undeclared


def check(evidence: StepEvidence) -> Iterable[Finding]:
    batch = evidence.contract.batch
    for item in undeclared(evidence):
        if batch is not None and item.leaf.shape[:1] != [batch.size]:
            continue  # the batch itself is another one, which is reported once
        key = format_key(("step", evidence.name, "signatures", item.name))
        declared = in_a_line(map(str, item.declared), 3, " or ")
        yield RULE.finding(
            f"input {item.leaf.path} is {item.leaf.shape}, the contract declares {declared}",
            subject=key,
            location=evidence.place(key),
            key=key,
            expected=declared,
            found=str(item.leaf.shape),
            help="declare the shape, or build the step with a declared one",
        )


RULE = Rule(code="DAT202", name="signature-shape", severity="error", evidence="trace", doc=__doc__ or "", check=check)
