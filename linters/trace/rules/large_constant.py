"""A large array is closed over and becomes a constant of the program.

## What it does
Lists arrays above `graph.constants_max` that the traced function captured instead of taking them as arguments.

## Why is this bad?
The array is copied into every executable, replicated on every device, hashed on every trace and folded by the
compiler. Compile time and memory grow; a changed value means a new compile.

## Example
```python
table = np.ones((4096, 4096), np.float32)

@jax.jit
def step(state, batch):
    return state @ table
```

## Use instead
```python
@jax.jit
def step(state, batch, table):
    return state @ table
```

## References
- https://github.com/jax-ml/jax/issues/17061
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "graph.constants_max"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    graph, jaxpr = evidence.contract.graph, evidence.facts.jaxpr
    if graph is None or graph.constants_max is None or jaxpr is None:
        return
    for constant in jaxpr.constants:
        if constant.bytes <= graph.constants_max:
            continue
        frame = constant.frames[0] if constant.frames else None
        yield RULE.finding(
            f"an array {constant.dtype}{constant.shape} of {format_bytes(constant.bytes)} is closed over; "
            f"the limit is {format_bytes(graph.constants_max)}",
            subject=f"{constant.dtype}{constant.shape}:{frame.path if frame else ''}:{frame.function if frame else ''}",
            location=frame_location(constant.frames) or evidence.place(KEY),
            key=KEY,
            expected=f"at most {graph.constants_max:,} bytes",
            found=f"{constant.bytes:,} bytes",
            help="pass the array as an argument of the step",
            details={"bytes": constant.bytes},
        )


RULE = Rule(code="JIT203", name="large-constant", severity="error", evidence="trace", doc=__doc__ or "", check=check)
