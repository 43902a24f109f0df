"""The step compiled more often than promised while it ran.

## What it does
Counts the compiles of the step over the executed loop against `step.<name>.compiles`, and names the argument that
changed.

## Why is this bad?
The first step is slow by design; a compile in a later one is a stall on every host, and one in every step is a run
that never leaves the compiler.

## Example
```python
for i in range(steps):
    # lr is static: one compile a step
    state, metrics = step(state, batch, lr=schedule(i))
```

## Use instead
```python
# lr is an array argument
step = jax.jit(train_step)
```

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
- https://github.com/google/flax/issues/2881
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    run, section = evidence.run, evidence.section
    if run is None or section is None or section.compiles is None or len(run.compiles) <= section.compiles:
        return
    key = f"{evidence.step_key}.compiles"
    extra = [event for event in run.compiles if event.index > 0] or run.compiles[section.compiles :]
    argument = next((event.argument for event in extra if event.argument), None)
    blame = f": argument {argument} changed" if argument else ""
    yield RULE.finding(
        f"the step compiled {len(run.compiles)} times in {run.steps} steps, promised {section.compiles}{blame}",
        subject=argument or "step",
        location=evidence.place(key),
        key=key,
        expected=f"{section.compiles}",
        found=f"{len(run.compiles)}",
        evidence=tuple(f"step {event.index}: {event.reason}" for event in run.compiles),
        help="keep shapes, dtypes, weak types, placements and static values the same from step to step",
        details={"argument": argument},
    )


RULE = Rule(code="JIT301", name="recompiled", severity="error", evidence="run", doc=__doc__ or "", check=check)
