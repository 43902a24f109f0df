"""The program moves data that nobody planned.

## What it does
Compares the collectives of the partitioned program with those the contract promises, for each kind and set of mesh
axes: executions and elements of one step, loops multiplied, tolerance 0. What is left over is named with its source
line, its axis and the bytes it sends in a step.

## Why is this bad?
The partitioner repairs every mismatch of placements by moving data, without a word. One reshape that loses the batch
axis can gather the whole batch on every device, in every layer.

## Example
```python
# the leading axis was the sharded one: all-gather over data
x = x.reshape(n, b // n, s)
```

## Use instead
```python
# the sharded axis stays in front
x = x.reshape(b // n, n, s).swapaxes(0, 1)
```
or write the collective down in `collectives.expect` / `collectives.allow` with its reason.

## References
- https://github.com/jax-ml/jax/issues/21562
- https://github.com/jax-ml/jax/issues/20381
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ....contracts.finding import Finding
from ....hlo_tools.collectives import Collective
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import Difference, differences, is_asked_for, same_kind
from ..wording import axes_text, cost_text, frame_apart, name_at, place_at, total_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for difference in differences(evidence):
        if difference.problem != "unplanned":
            continue
        promise = difference.promised
        rest = same_kind(evidence, difference)
        key = promise.key if promise else "collectives.expect"
        for rows in _by_line(difference.rows):
            first, frame = rows[0], frame_apart(rows, rest)
            yield RULE.finding(
                f"{difference.kind} over {axes_text(difference.axes)} is not promised: {cost_text(rows)}",
                subject=f"{difference.kind}:{','.join(difference.axes)}:{name_at(frame, first)}",
                location=place_at(frame) or evidence.place(key),
                key=key,
                instruction=first.name,
                expected=total_text(promise.count, promise.elements) if promise else "none",
                found=_found_text(difference, rows),
                evidence=shown(f"{row.name}: {row.dtype}, {cost_text([row])}, at {row.source}" for row in rows),
                help="keep the placement through this line, or promise the collective in the contract",
                details={
                    "kind": difference.kind,
                    "axes": list(difference.axes),
                    "asked": any(is_asked_for(evidence, row) for row in rows),
                    "ring_bytes": sum(int(row.ring_bytes) for row in rows),
                }
                | difference.beyond,
            )


def _found_text(difference: Difference, rows: Sequence[Collective]) -> str:
    """What these rows run; where a part of their kind and axes is promised, all of it too, to be compared with that."""
    here = total_text(sum(row.count for row in rows), sum(row.elements for row in rows))
    whole = total_text(difference.count, difference.elements)
    return here if difference.promised is None or here == whole else f"{here} here; {whole} in all"


def _by_line(rows: Sequence[Collective]) -> Iterable[list[Collective]]:
    """Collectives of one line together. One that the compiler made without a line (the repetition of a line in the
    backward pass, say) goes with those of the same size."""
    lines: dict[str, list[Collective]] = defaultdict(list)
    for row in rows:
        if row.source:
            lines[row.source].append(row)
    for row in rows:
        if not row.source:
            same = (name for name, group in lines.items() if any(_each(row) == _each(other) for other in group))
            lines[next(same, row.name)].append(row)
    return lines.values()


def _each(row: Collective) -> int:
    """Elements of one execution."""
    return row.elements // max(row.count, 1)


RULE = Rule(
    code="SHD204",
    name="unplanned-collective",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
