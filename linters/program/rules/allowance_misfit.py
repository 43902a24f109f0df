"""A small collective is not promised, and an allowance misses it by one word.

## What it does
Looks for unplanned collectives that an entry of `collectives.allow` would allow with another kind, other axes or a
larger `elements_max`, where that entry allows nothing else of the program over its axes.

## Why is this bad?
An allowance that fits nothing was written for something: either the reduction of the metrics has changed, or the entry
never said what it meant.

## Example
```yaml
allow:
  # the program reduces over data x fsdp
  - { kind: all-reduce, axes: [data], elements_max: 1, reason: metrics }
```

## Use instead
```yaml
allow:
  - { kind: all-reduce, axes: [data, fsdp], elements_max: 1, reason: metrics }
```

## References
- https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import as_axes
from ....hlo_tools.collectives import Collective
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import differences, row_axes
from ..wording import axes_text, cost_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.collectives
    if section is None:
        return
    rows: dict[int, list[Collective]] = defaultdict(list)
    for difference in differences(evidence):
        if difference.allowance is not None:
            rows[difference.allowance] += difference.rows
    for index, missed in rows.items():
        entry, first = section.allow[index], missed[0]
        key = f"collectives.allow[{index}]"
        yield RULE.finding(
            f"{first.kind} over {axes_text(row_axes(first))} is not promised ({cost_text(missed)}), and {key} misses "
            f"it: {entry.kind} over {axes_text(as_axes(entry.axes))} of at most {entry.elements_max:,} elements",
            subject=key,
            location=evidence.place(key),
            key=key,
            instruction=first.name,
            expected=f"{entry.kind} over {axes_text(as_axes(entry.axes))}, at most {entry.elements_max:,} elements",
            found=f"{first.kind} over {axes_text(row_axes(first))}",
            evidence=shown(f"{row.name}: {row.dtype}, {cost_text([row])}, at {row.source}" for row in missed),
            help="correct the entry, or the reduction at the lines listed here",
            details={"kind": first.kind, "axes": list(row_axes(first))},
        )


RULE = Rule(
    code="SHD213",
    name="allowance-misfit",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
