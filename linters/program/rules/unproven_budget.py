"""A memory limit is kept by a fast compile, but not by enough to say so of a full one.

## What it does
On a TPU target compiled at `--effort fast` the temporaries are those of another program than the one that will run. A
limit is listed here that the fast compile keeps, but that three times its figure and the results of all collectives
would break; for one class of buffers, three times all temporaries, as the peak may come at another moment. `verify`
compiles such a step again at full effort by itself; a capture that is judged later cannot be.

## Why is this bad?
The real compile runs at full effort. It starts collectives early, to overlap them with work, and holds the result of
each; it lays arrays out otherwise, and frees what O1 keeps. What must fit was measured from 0.2 to 3.9 times that at O1
(`benchmarks/effort.py`), and nothing bounds it.

## Example
```yaml
# 16 layers written out, sharded as FSDP: the fast compile needs 1.0 GiB, the full one 4.0 GiB
memory: { hbm: 3GiB }
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
from ..limits import unproven


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
            expected=f"room for {format_bytes(limit.room)}",
            found=f"room for {format_bytes(limit.allowed)}",
            help="make the capture with --effort full",
        )


RULE = Rule(
    code="MEM208",
    name="memory-not-proven",
    severity="warning",
    confidence="likely",
    evidence="program",
    doc=__doc__ or "",
    check=check,
)
