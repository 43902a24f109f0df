"""The step calls back to Python on the host.

## What it does
Finds `jax.debug.print`, `debug.callback`, `pure_callback`, `io_callback`, infeed and outfeed in the traced program
and host transfers in the compiled one, where the contract says `graph.host_callbacks: forbid`.

## Why is this bad?
Every call waits for, or is waited for by, the host; ordered ones serialise the devices. A print left in a layer runs
once per layer, microbatch and device.

## Example
```python
jax.debug.print("loss {}", loss)
```

## Use instead
Return the value from the step and print it outside, every n-th step.

## References
- https://docs.jax.dev/en/latest/external-callbacks.html
- https://github.com/jax-ml/jax/issues/25842
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.module import HloModule
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "graph.host_callbacks"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    graph = evidence.contract.graph
    if graph is None or graph.host_callbacks != "forbid":
        return
    callbacks = evidence.facts.jaxpr.callbacks if evidence.facts.jaxpr else []
    for callback in callbacks:
        frame = callback.frames[0] if callback.frames else None
        inside = f", inside {callback.loop_depth} loops" if callback.loop_depth else ""
        yield RULE.finding(
            f"{callback.primitive} calls the host from the step{inside}; the contract forbids host callbacks",
            subject=f"{callback.primitive}:{frame.path}:{frame.function}" if frame else callback.primitive,
            location=frame_location(callback.frames) or evidence.place(KEY),
            key=KEY,
            expected="none",
            found=callback.primitive,
            help="return the value and report it outside the step, or set `graph.host_callbacks: allow`",
            details={"primitive": callback.primitive},
        )
    if not callbacks and evidence.facts.error is None and evidence.step.optimized is not None:
        yield from _in_program(evidence, evidence.step.optimized)


def _in_program(evidence: StepEvidence, module: HloModule) -> Iterable[Finding]:
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in ("infeed", "outfeed"):
                instruction = computation.instruction_at(position)
                yield RULE.finding(
                    f"{instruction.opcode} {instruction.name} exchanges data with the host; the contract forbids it",
                    subject=instruction.opcode,
                    location=frame_location(list(instruction.frames)) or evidence.place(KEY),
                    key=KEY,
                    instruction=instruction.name,
                    expected="none",
                    found=instruction.opcode,
                    help="feed the data as an argument, or set `graph.host_callbacks: allow`",
                    details={"primitive": instruction.opcode},
                )


RULE = Rule(code="JIT202", name="host-callback", severity="error", evidence="trace", doc=__doc__ or "", check=check)
