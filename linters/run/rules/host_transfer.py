"""A value left the device while the step ran.

## What it does
Reports reads of device values and host callbacks during the executed loop, with the Python line.

## Why is this bad?
Reading a value waits for the device to finish it. Once per step, that removes the overlap of host and device work
that asynchronous dispatch exists for.

## Example
```python
def train_step(state, batch):
    state, loss = inner(state, batch)
    print(float(loss))
```

## Use instead
Keep metrics on the device and read them every n-th step, outside the step.

## References
- https://docs.jax.dev/en/latest/async_dispatch.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence, frame_location
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    run, graph = evidence.run, evidence.contract.graph
    if run is None or graph is None or graph.host_callbacks != "forbid":
        return
    seen: set[tuple] = set()
    for event in run.transfers:
        frame = event.frames[0] if event.frames else None
        place = (event.kind, frame.path, frame.line) if frame else (event.kind,)
        if place in seen:
            continue
        seen.add(place)
        times = sum(
            (e.kind, *((e.frames[0].path, e.frames[0].line) if e.frames else ())) == place for e in run.transfers
        )
        yield RULE.finding(
            f"{event.kind} brought a value to the host {times} times in {run.steps} steps",
            subject=f"{event.kind}:{frame.path if frame else ''}:{frame.function if frame else ''}",
            location=frame_location(event.frames) or evidence.place("graph.host_callbacks"),
            key="graph.host_callbacks",
            expected="none",
            found=f"{times}",
            help="return the value and read it outside the step",
        )


RULE = Rule(code="JIT302", name="host-transfer", severity="error", evidence="run", doc=__doc__ or "", check=check)
