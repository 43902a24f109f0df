"""The same block stands unrolled several times in the program.

## What it does
Counts consecutive blocks of equal equations in the traced program, and compares them with
`graph.repeated_blocks_max`.

## Why is this bad?
A Python loop over layers is traced once for each layer: trace time, compile time and program size grow with depth.

## Example
```python
for layer in params["layers"]:
    x = block(layer, x)
```

## Use instead
```python
x, _ = jax.lax.scan(lambda x, layer: (block(layer, x), None), x, stacked_layers)
```

## References
- https://github.com/jax-ml/jax/issues/352
- https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "graph.repeated_blocks_max"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    graph, jaxpr = evidence.contract.graph, evidence.facts.jaxpr
    if graph is None or graph.repeated_blocks_max is None or jaxpr is None:
        return
    over = [repeat for repeat in jaxpr.repeats if repeat.copies > graph.repeated_blocks_max]
    if not over:
        return
    first = over[0]  # program order: the forward pass, where the loop is written, before its transpose
    frame = first.frames[0] if first.frames else None
    yield RULE.finding(
        f"one block of {first.equations} equations stands {first.copies} times in the program; "
        f"the limit is {graph.repeated_blocks_max}",
        subject=f"{frame.path}:{frame.function}" if frame else "blocks",
        location=frame_location(first.frames) or evidence.place(KEY),
        key=KEY,
        expected=f"at most {graph.repeated_blocks_max} copies",
        found=f"{first.copies} copies",
        evidence=shown(
            (
                f"{r.copies} x {r.equations} equations at {r.frames[0].path}:{r.frames[0].line}"
                for r in over
                if r.frames
            ),
            most=10,
        ),
        help="scan over stacked layers",
    )


RULE = Rule(code="JIT204", name="unrolled-blocks", severity="error", evidence="trace", doc=__doc__ or "", check=check)
