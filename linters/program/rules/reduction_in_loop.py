"""Gradients are summed over the devices in every microbatch, though the contract promises one sum.

## What it does
With `accumulation.reduce: once`, looks in the optimised program for sums over batch axes, larger than metrics, inside
the loop over microbatches. It names the line that keeps the compiler from moving the sum behind the loop, where one
does. Only the TPU compiler moves sums, at full effort: at `--effort fast` a sum in the loop is a warning, and on other
targets nothing is judged.

## Why is this bad?
The sum over devices and the sum over microbatches can change places as long as nothing stands between them. A
non-linear step there (a clip, a replaced NaN) ties every microbatch to the wire: N times the bytes, without a change in
the partitioned program.

## Example
```python
def body(total, micro):
    grads = jax.grad(loss)(params, micro)
    grads = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0), grads)
    return jax.tree.map(jnp.add, total, grads), None
```

## Use instead
```python
grads, _ = jax.lax.scan(body, zeros, batch)          # body only adds
grads = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0), grads)
```

## References
- https://github.com/openxla/xla/blob/main/xla/service/while_loop_all_reduce_code_motion.h
- https://arxiv.org/abs/2006.15704
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.manifest import Frame
from ....hlo_tools.collectives import Collective
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..accumulation import held_by, sums_in_loop
from ..match import row_axes
from ..wording import axes_text, cost_text, frame_apart, name_at, place_at

KEY = "accumulation.reduce"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.accumulation
    if section is None or section.reduce != "once" or not evidence.target.startswith("tpu:"):
        return
    groups: dict[tuple[str, int] | None, list[tuple[Collective, Frame | None]]] = defaultdict(list)
    for row in sums_in_loop(evidence):
        holder = held_by(evidence, row)
        groups[(holder.path, holder.line) if holder else None].append((row, holder))
    fast = evidence.capture.manifest.provenance.effort == "fast"
    for found in groups.values():
        rows, holder = [row for row, _ in found], found[0][1]
        frame = holder or frame_apart(rows, ())
        axes = row_axes(rows[0])
        cause = "; at effort fast the compiler moves no sum out of a loop" if fast else ""
        yield RULE.finding(
            f"{rows[0].kind} over {axes_text(axes)} runs in each of {section.microbatches} microbatches, "
            f"promised once: {cost_text(rows)}{cause}",
            subject=f"{rows[0].kind}:{','.join(axes)}:{name_at(frame, rows[0])}",
            severity="warning" if fast else "error",
            confidence="likely" if fast else "certain",
            location=place_at(frame) or evidence.place(KEY),
            key=KEY,
            instruction=rows[0].name,
            expected="once in a step",
            found=f"{rows[0].count:,} times",
            evidence=shown(f"{row.name}: {row.dtype}, {cost_text([row])}, at {row.source}" for row in rows),
            help="verify with --effort full" if fast else "keep the loop linear: do this once, after the loop",
            details={"kind": rows[0].kind, "axes": list(axes), "ring_bytes": sum(row.ring_bytes for row in rows)},
        )


RULE = Rule(
    code="SHD215", name="reduction-in-loop", severity="error", evidence="program", doc=__doc__ or "", check=check
)
