"""The partitioner replicated a whole tensor because it found no other way.

## What it does
Reports XLA's "involuntary full rematerialization" warnings, with the Python line of the operation.

## Why is this bad?
Between two placements that no single collective connects, the partitioner gathers the tensor on every device and
slices it again. Memory peaks at the full size and the step moves far more than the change needs.

## Example
```python
x = with_sharding_constraint(x, P(("a", "b", "c"), None))
x = with_sharding_constraint(jnp.sin(x), P(None, ("c", "a")))
```

## Use instead
Go through a placement that shares axes with both, in two constraints.

## References
- https://github.com/jax-ml/jax/issues/21562
- https://github.com/openxla/xla/issues/15402
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence, frame_location
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for warning in evidence.facts.warnings:
        if warning.kind != "involuntary-rematerialization":
            continue
        place = frame_location(warning.frames)
        function = f"{warning.frames[0].path}:{warning.frames[0].function}" if warning.frames else warning.message[:80]
        yield RULE.finding(
            "the partitioner cannot change this placement step by step and replicates the whole tensor",
            subject=function,
            location=place or evidence.place(evidence.step_key),
            expected="a placement change by one collective",
            found="full rematerialization",
            evidence=(warning.message,),
            help="insert a placement between the two that shares mesh axes with both",
        )


RULE = Rule(
    code="SHD209",
    name="involuntary-rematerialization",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
