"""A promised collective runs over another mesh axis.

## What it does
Pairs a promised collective that is missing with an unplanned one of the same kind and the same executions and
elements.

## Why is this bad?
Mesh axes are wires: an axis inside a host or torus dimension is far faster than one across slices. A collective on
the wrong axis also reduces over the wrong devices, which can change the result.

## Example
```python
# the batch is split over "data"
grads = jax.lax.psum(grads, "tensor")
```

## Use instead
```python
grads = jax.lax.psum(grads, "data")
```

## References
- https://jax-ml.github.io/scaling-book/sharding/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import differences, same_kind
from ..wording import axes_text, cost_text, frame_apart, place_at


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for difference in differences(evidence):
        if difference.problem != "moved" or difference.promised is None or difference.moved_from is None:
            continue
        first = difference.rows[0]
        yield RULE.finding(
            f"{difference.kind} runs over {axes_text(difference.axes)}, "
            f"promised over {axes_text(difference.moved_from)}: {cost_text(difference.rows)}",
            subject=f"{difference.kind}:{','.join(difference.axes)}",
            location=place_at(frame_apart(difference.rows, same_kind(evidence, difference)))
            or evidence.place(difference.promised.key),
            key=difference.promised.key,
            instruction=first.name,
            expected=axes_text(difference.moved_from),
            found=axes_text(difference.axes),
            help="reduce or gather over the promised axis, or correct the promise",
            details={
                "kind": difference.kind,
                "axes": list(difference.axes),
                "promised_axes": list(difference.moved_from),
            },
        )


RULE = Rule(
    code="SHD207",
    name="collective-axis",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
