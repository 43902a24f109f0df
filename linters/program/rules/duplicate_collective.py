"""The same collective is issued twice for the same value.

## What it does
Finds, in one computation of the partitioned program, collectives of one kind over the same groups whose operands are
the same value, seen through copies, converts, reshapes and transposes.

## Why is this bad?
A parameter that is gathered for each of its uses travels as often. The compiler may merge the copies, but nothing
promises that it does, and in a loop or under remat it usually does not.

## Example
```python
y = x @ reshard(w, P())
z = x @ reshard(w, P())          # the second all-gather of w
```

## Use instead
```python
w_full = reshard(w, P())
y, z = x @ w_full, x @ w_full
```

## References
- https://github.com/openxla/xla/issues/40135
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.collectives import Collective
from ...evidence import StepEvidence
from ...rule import Rule
from ..duplicates import duplicates
from ..match import differences, row_axes
from ..wording import axes_text, cost_text, frame_apart, name_at, place_at


def check(evidence: StepEvidence) -> Iterable[Finding]:
    if evidence.partitioned is None or evidence.step.partitioned is None:
        return
    over = {(d.kind, d.axes) for d in differences(evidence) if d.problem in ("unplanned", "size")}
    by_name = {(row.computation, row.name): row for row in evidence.partitioned.rows}
    for first_name, again_name, computation in duplicates(evidence.step.partitioned):
        first, again = by_name.get((computation, first_name)), by_name.get((computation, again_name))
        if first is None or again is None or again.elements <= again.count:
            continue
        frame = frame_apart([again], [first])
        beyond = (again.kind, row_axes(again)) in over
        yield RULE.finding(
            f"{again.kind} over {axes_text(row_axes(again))} repeats one of the same value at {_place(first)}: "
            f"{cost_text([again])}",
            subject=f"{again.kind}:{','.join(row_axes(again))}:{name_at(frame, again)}",
            severity="error" if beyond else "warning",
            location=place_at(frame),
            instruction=again.name,
            expected="one",
            found="two",
            evidence=(f"{first.name} at {_place(first)}", f"{again.name} at {_place(again)}"),
            help="gather or reduce the value once and use the result twice",
            details={
                "kind": again.kind,
                "axes": list(row_axes(again)),
                "ring_bytes": int(again.ring_bytes),
                "executions": again.count,
                "elements": again.elements,
            },
        )


def _place(row: Collective) -> str:
    return row.source or f"{row.name}, which has no source line"


RULE = Rule(
    code="SHD208",
    name="duplicate-collective",
    severity="warning",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
