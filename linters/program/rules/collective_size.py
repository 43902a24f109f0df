"""A promised collective has another size.

## What it does
Reports each kind and set of mesh axes where executions and elements differ from the promise in opposite directions,
or where only the elements differ, or only the bytes that they send (`ring_bytes`, where the contract promises them).

## Why is this bad?
The same number of collectives over other sizes means that other tensors travel: a gather in the wrong layout, a
gradient reduced before instead of after it was sliced, another batch or width than the contract was written for.

## Example
```yaml
collectives:
  expect:
    # the program gathers 131,072
    - { kind: all-gather, axes: fsdp, count: 8, elements: 65536 }
```

## Use instead
Find the line below and compare its shapes with the promise; correct the one that is wrong.

## References
- https://openxla.org/xla/operation_semantics#allgather
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import differences, same_kind
from ..wording import axes_text, cost_text, frame_apart, place_at, total_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for difference in differences(evidence):
        promise = difference.promised
        if difference.problem not in ("size", "bytes") or promise is None:
            continue
        expected = total_text(promise.count, promise.elements)
        found = total_text(difference.count, difference.elements)
        advice = "compare the shapes at these lines with the promise"
        verb = "has"
        if difference.problem == "bytes":
            verb, expected, found = "sends", f"{promise.ring_bytes:,} bytes", f"{difference.sent:,} bytes"
            advice = "as many elements travel as promised: look at their dtype, or at how many devices a group has"
        one_line = len({row.source for row in difference.rows}) == 1
        location = place_at(frame_apart(difference.rows, same_kind(evidence, difference))) if one_line else None
        yield RULE.finding(
            f"{difference.kind} over {axes_text(difference.axes)} {verb} {found}, promised {expected}",
            subject=f"{difference.kind}:{','.join(difference.axes)}",
            location=location or evidence.place(promise.key),
            key=promise.key,
            expected=expected,
            found=found,
            evidence=shown(f"{row.name}: {row.dtype}, {cost_text([row])}, at {row.source}" for row in difference.rows)
            + promise.explanation,
            help=advice,
            details={"kind": difference.kind, "axes": list(difference.axes)} | difference.beyond,
        )


RULE = Rule(
    code="SHD206",
    name="collective-size",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
