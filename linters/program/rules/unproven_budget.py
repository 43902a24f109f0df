"""A memory limit is kept by a fast compile, but not by enough to say so of a full one.

## What it does
On a TPU target compiled at `--effort fast` the temporaries are those of another program than the one that will run. A
limit that the fast compile keeps, but that three times its figure would break, is listed here; a limit on one class of
buffers is held against three times all temporaries, as the peak may come at another moment. `verify` compiles such a
step again at full effort by itself; a capture that is judged later cannot be.

## Why is this bad?
The real compile runs at full effort. It keeps more alive to overlap communication with work, lays arrays out otherwise,
and frees what O1 keeps: of twenty programs what must fit was measured from 0.2 to 1.2 times that at O1
(`benchmarks/effort.py`). Nothing bounds it.

## Example
```yaml
# the fast compile needs 10.9 GiB, the full one 13.1 GiB
memory: { hbm: 12GiB }
```

## Use instead
Make the capture with `--effort full`.

## References
- https://openxla.org/xla/oom_debugging
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...evidence import StepEvidence
from ...rule import Rule
from ..limits import ROOM, Limit, unproven


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for limit in unproven(evidence):
        key = limit.key or "memory.hbm"
        allowed = "the budget" if limit.key else f"what a device of {evidence.target} gives a program"
        yield RULE.finding(
            f"{limit.what} took {format_bytes(limit.used)} at fast effort, which full effort may exceed; "
            f"{allowed} is {format_bytes(limit.allowed)}",
            subject=limit.key or "device",
            location=evidence.place(key),
            key=limit.key,
            expected=f"at most {format_bytes(limit.allowed // ROOM)} at fast effort",
            found=_found(limit),
            help="make the capture with --effort full",
        )


def _found(limit: Limit) -> str:
    beside = f", and {format_bytes(limit.most)} of temporaries" if limit.most != limit.used else ""
    return f"{format_bytes(limit.used)}{beside}"


RULE = Rule(
    code="MEM208",
    name="memory-not-proven",
    severity="warning",
    confidence="likely",
    evidence="program",
    doc=__doc__ or "",
    check=check,
)
