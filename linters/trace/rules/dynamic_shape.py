"""The program has a dimension whose size is known only when it runs.

## What it does
Reports bounded and unbounded dynamic dimensions in the traced program, where the contract says
`graph.dynamic_shapes: forbid`.

## Why is this bad?
Accelerator programs are compiled for fixed sizes. Dynamic dimensions are padded to their bound, or fail at scale.

## Example
A dimension that is exported as `b` and never bound to a number.

## Use instead
Fix the size with `size=` or pad to a static shape with a mask.

## References
- https://docs.jax.dev/en/latest/export/shape_poly.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.manifest import Frame
from ...cut import shown
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "graph.dynamic_shapes"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    graph, jaxpr = evidence.contract.graph, evidence.facts.jaxpr
    if graph is None or graph.dynamic_shapes != "forbid" or jaxpr is None:
        return
    functions: dict[str, list[Frame]] = {}
    for frame in jaxpr.dynamic_shapes:
        functions.setdefault(f"{frame.path}:{frame.function}", []).append(frame)
    for function, (first, *rest) in functions.items():
        # What is computed from a dynamic value is dynamic too: the first line of a function explains its others.
        yield RULE.finding(
            "this value has a dimension without a static size; the contract forbids dynamic shapes",
            subject=function,
            location=frame_location([first]),
            key=KEY,
            expected="static shapes",
            found="a dynamic dimension",
            evidence=shown(f"and so are values at {frame_location([frame])}" for frame in rest),
            help="fix the size, or pad to a static shape with a mask",
        )


RULE = Rule(code="JIT205", name="dynamic-shape", severity="error", evidence="trace", doc=__doc__ or "", check=check)
