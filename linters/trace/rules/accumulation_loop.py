"""The step has no loop over the promised number of microbatches.

## What it does
Looks for a scan or loop of length `accumulation.microbatches` at the top of the traced program.

## Why is this bad?
The number of microbatches sets activation memory, the number of gradient reductions and the weight of each example. A
config key that the step does not read leaves all three as they were.

## Example
```yaml
accumulation: { microbatches: 4 }        # the step scans over 2
```

## Use instead
Pass the number to the function that builds the step (`accumulation.arg` names the argument).

## References
- https://huggingface.co/blog/gradient_accumulation
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule

KEY = "accumulation.microbatches"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, jaxpr = evidence.contract.accumulation, evidence.facts.jaxpr
    if section is None or jaxpr is None or section.microbatches == 1:
        return
    lengths = sorted({loop.length for loop in jaxpr.loops if loop.depth == 0 and loop.length is not None})
    if section.microbatches in lengths:
        return
    yield RULE.finding(
        f"no loop of the step runs {section.microbatches} times; its outer loops run {lengths or 'never'}",
        subject="microbatches",
        location=evidence.place(KEY),
        key=KEY,
        expected=f"{section.microbatches}",
        found=", ".join(map(str, lengths)) or "no loop",
        help="pass the number to the step, or correct the contract",
    )


RULE = Rule(code="SEM201", name="accumulation-loop", severity="error", evidence="trace", doc=__doc__ or "", check=check)
