"""The program calls a kernel that the contract does not promise.

## What it does
Lists the custom calls of the program that neither JAX nor XLA makes by itself (Pallas and Mosaic kernels, Triton, FFI
calls) and compares their `custom_call_target` with `graph.kernels`: `forbid`, or a list of the targets that may occur.

## Why is this bad?
A kernel is opaque: the compiler neither fuses nor partitions it, counts no operations in it, and cannot run it on
another platform. One that slips in through a library's default changes numbers and speed without a line of the user's.

## Example
```yaml
# and attention(..., implementation="mosaic") in the model
graph: { kernels: forbid }
```

## Use instead
Call the plain implementation, or promise the kernel:
```yaml
graph: { kernels: [tpu_custom_call] }
```

## References
- https://openxla.org/xla/custom_call
- https://docs.jax.dev/en/latest/pallas/index.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.custom_calls import kernel_calls
from ....hlo_tools.frames import user_frames
from ....hlo_tools.instruction import Instruction
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..wording import place_at

KEY = "graph.kernels"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    graph, module = evidence.contract.graph, evidence.step.partitioned or evidence.step.optimized
    if graph is None or graph.kernels == "allow" or module is None:
        return
    allowed = () if graph.kernels == "forbid" else tuple(graph.kernels)
    calls: dict[tuple[str, str | None], list[Instruction]] = defaultdict(list)
    for target, call in kernel_calls(module):
        if target not in allowed:
            calls[target, call.source].append(call)
    for (target, source), found in calls.items():
        frame = next(iter(user_frames(found[0].frames) or found[0].frames), None)
        times = f", {len(found)} times" if len(found) > 1 else ""
        yield RULE.finding(
            f"the program calls the kernel {target}{times}; the contract "
            + (f"promises only {', '.join(allowed)}" if allowed else "promises none"),
            subject=f"{target}:{frame.path}:{frame.function}" if frame else target,
            location=place_at(frame) or evidence.place(KEY),
            key=KEY,
            instruction=found[0].name,
            expected=", ".join(allowed) or "no kernel",
            found=target,
            evidence=shown((f"{call.name}: {call.shape.text} at {call.source or source}" for call in found), most=10),
            help="use the plain implementation here, or add the target to `graph.kernels`",
            details={"target": target},
        )


RULE = Rule(code="JIT211", name="custom-kernel", severity="error", evidence="program", doc=__doc__ or "", check=check)
