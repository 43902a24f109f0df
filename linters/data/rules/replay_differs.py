"""Two positions of one place give other batches.

## What it does
Opens the data twice, puts the cursors of two progress records in, and compares the sha256 of the next batches.

## Why is this bad?
The point of a cursor is that a run goes on as if it had never stopped. One that was frozen, or saved before what was
read ahead was used, gives batches again or leaves some out.

## Example
```json
{"step": 100, "cursor": {"next_index": 98}}
```

## Use instead
```json
{"step": 100, "cursor": {"next_index": 100}}
```

## References
- https://github.com/pytorch/torchtitan/issues/3907
- https://github.com/wyim-pgl/transgenic/issues/59
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import DataEvidence


def check(evidence: DataEvidence) -> Iterable[Finding]:
    if evidence.positions is None or evidence.replayed is None or any(evidence.replayed.refused):
        return
    first, second = evidence.positions
    a, b = evidence.replayed.batches
    if a == b:
        return
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    said = f"batch {at} after {second.name} is another than batch {at} after {first.name}"
    if at == min(len(a), len(b)):
        said = f"{second.name} gives {len(b)} batches and {first.name} {len(a)} before the data ends"
    yield evidence.finding(
        RULE,
        second,
        "cursor",
        said + _shifted(a, b),
        expected=a[at] if at < len(a) else "the end of the data",
        found=b[at] if at < len(b) else "the end of the data",
        help="save the cursor of the iterator that gave the last batch, when the step that used it is done",
        details={"batch": at},
    )


def _shifted(a: tuple[str, ...], b: tuple[str, ...]) -> str:
    """Where one runs behind the other."""
    for by in range(1, min(len(a), len(b))):
        if a[by:] == b[: len(a) - by]:
            return f": it is {by} ahead"
        if b[by:] == a[: len(b) - by]:
            return f": it is {by} behind, and reads {by} again"
    return ""


RULE = Rule(
    code="DAT712",
    name="replay-differs",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
