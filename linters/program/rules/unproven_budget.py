"""A memory limit is kept by a fast compile, but too closely to say so of a full one.

## What it does
On a TPU target compiled at `--effort fast` the figures are a lower bound. A limit that is kept, but by less than the
factor 1.4 that a full compile may need on top, is listed here. `verify` compiles such a step again at full effort by
itself; a capture that is judged later cannot be.

## Why is this bad?
The real compile runs at full effort, where more is kept alive to overlap communication: at O1 the peak was measured up
to a quarter lower than at full effort.

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
from ..limits import FULL_OVER_FAST, unproven


def check(evidence: StepEvidence) -> Iterable[Finding]:
    for limit in unproven(evidence):
        key = limit.key or "memory.hbm"
        allowed = "the budget" if limit.key else f"the memory of a device of {evidence.target}"
        yield RULE.finding(
            f"{limit.what} took {format_bytes(limit.used)} at fast effort, a lower bound; "
            f"{allowed} is {format_bytes(limit.allowed)}",
            subject=limit.key or "device",
            location=evidence.place(key),
            key=limit.key,
            expected=f"at most {format_bytes(int(limit.allowed / FULL_OVER_FAST))} at fast effort",
            found=format_bytes(limit.used),
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
