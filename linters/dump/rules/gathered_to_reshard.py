"""A value is gathered whole to be cut along another dimension.

## What it does
Finds all-gathers, one or a chain of them, whose result each device cuts through a dimension that was not gathered, down
to no more than a shard: a change of placement by way of the whole. Where the chain leaves the whole tensor on every
device, it is what XLA calls an involuntary full rematerialization.

## Why is this bad?
Each device has one shard and needs one: at most that many bytes have to travel, by an all-to-all. Through the whole
come n-1 times as many, and the whole must fit in memory.

## Example
```python
x = with_sharding_constraint(x, P("y", None, "x"))
x = with_sharding_constraint(x + 1, P(None, ("x", "y"), None))
```

## Use instead
```python
x = with_sharding_constraint(x, P("y", None, "x"))
x = with_sharding_constraint(x + 1, P("y", "x", None))        # one all-to-all over x
x = with_sharding_constraint(x, P(None, ("x", "y"), None))    # one all-to-all over y
```

## What stays clean
A gather of which any use needs the whole, or more than a shard; a cut at a place that data decides.

## References
- https://github.com/jax-ml/jax/issues/21562
- https://github.com/openxla/xla/issues/15207
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...cut import shown
from ...rule import Rule
from ..cuts import Cut, cuts
from ..evidence import DumpEvidence
from ..wording import alike, details, names, over, place_of, subject_of, together


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    devices = evidence.ledger.devices if evidence.ledger else 0
    wanted = (cut for cut in cuts(evidence) if cut.use == "otherwise")
    for found in together(wanted, lambda cut: (tuple(map(alike, cut.rows)), cut.used_bytes)):
        rows = [row for cut in found for row in cut.rows]
        used = sum(cut.used_bytes * cut.last.count for cut in found)
        received = sum(cut.received_bytes for cut in found)
        full = prod(row.group_size for row in found[0].rows) == devices
        what = "the whole tensor on every device (full rematerialization)" if full else "by way of the whole"
        runs = sum(row.count for row in rows)
        kinds = " and ".join(dict.fromkeys(over(row) for row in found[0].rows))
        times = f"{runs:,} execution{'s' * (runs != 1)}"
        yield RULE.finding(
            f"a change of placement puts {what}: {kinds} ({names(rows)}), {times}; "
            f"each device receives {format_bytes(received)} in a step and keeps {format_bytes(used)}",
            subject=f"{'full' if full else 'part'}:{subject_of(found[0].last)}",
            severity="warning" if evidence.is_final else "info",
            confidence="certain" if all(cut.certain for cut in found) else "likely",
            location=place_of(found[0].last),
            instruction=found[0].last.name,
            expected=f"at most {format_bytes(used)}",
            found=format_bytes(received),
            evidence=shown(_one(cut) for cut in found),
            help="put a placement between the two that shares mesh axes with both",
            details=details(rows) | {"needed_bytes": used},
        )


def _one(cut: Cut) -> str:
    steps = " -> ".join(f"%{row.name} {format_bytes(row.result_bytes // row.count)}" for row in cut.rows)
    pieces = ", ".join(f"%{piece.piece.instruction.name} {piece.piece.instruction.shape.text}" for piece in cut.pieces)
    return f"{steps} -> {pieces}"


RULE = Rule(
    code="SHD508", name="gathered-to-reshard", severity="warning", evidence="dump", doc=__doc__ or "", check=check
)
