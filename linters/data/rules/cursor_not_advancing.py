"""Steps go on and the place in the data does not.

## What it does
Compares each progress record of a run with the one before: tokens and cursor move whenever steps do, and by
`data.progress.tokens_per_step` for each step where the contract says so.

## Why is this bad?
A cursor that is frozen after a resume makes the first resume right and the second one go back: the data in between is
read again. So a test that resumes once cannot see it.

## Example
```json
{"step": 200, "tokens": 819200}
{"step": 300, "tokens": 819200}
```

## Use instead
```json
{"step": 200, "tokens": 819200}
{"step": 300, "tokens": 1228800}
```

## References
- https://github.com/pytorch/torchtitan/issues/3907
- https://github.com/PrimeIntellect-ai/prime-rl/pull/3332
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from ....contracts.finding import Finding
from ....contracts.progress import Progress
from ...rule import Rule
from ..evidence import DataEvidence


def check(evidence: DataEvidence) -> Iterable[Finding]:
    progress = evidence.data.progress if evidence.data is not None else None
    per_step = progress.tokens_per_step if progress is not None else None
    frozen = [found for pair in pairwise(evidence.history) if (found := _frozen(*pair, per_step)) is not None]
    if not frozen:
        return
    record, field, said, wanted, there = frozen[0]
    more = len(frozen) - 1
    later = f"; so do{'es' * (more == 1)} {_of(more, 'later record')}" if more else ""
    yield evidence.finding(
        RULE,
        record,
        field,
        f"step {record.fields['step']}: {said}{later}",
        expected=wanted,
        found=there,
        help="save the state of the iterator that is in use: one that was made before the restore stands still",
        details={"step": record.fields["step"]},
    )


def _frozen(before: Progress, now: Progress, per_step: int | None) -> tuple[Progress, str, str, str, str] | None:
    a, b = before.fields, now.fields
    if not isinstance(a.get("step"), int) or not isinstance(b.get("step"), int):
        return None
    steps = b["step"] - a["step"]
    if steps <= 0:
        return now, "step", f"it follows step {a['step']}", f"more than {a['step']}", str(b["step"])
    if isinstance(a.get("tokens"), int) and isinstance(b.get("tokens"), int):
        tokens = b["tokens"] - a["tokens"]
        wanted = f"{steps * per_step:,}" if per_step is not None else "more than 0"
        if tokens <= 0 or (per_step is not None and tokens != steps * per_step):
            said = f"{_of(steps, 'step')} but {_of(tokens, 'token')} since the record before (expected {wanted})"
            return now, "tokens", said, wanted, f"{tokens:,}"
    if a.get("cursor") is not None and a.get("cursor") == b.get("cursor"):
        said = f"{_of(steps, 'step')}, and the cursor is where it was"
        return now, "cursor", said, "another cursor", str(b["cursor"])
    return None


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


RULE = Rule(
    code="DAT713",
    name="cursor-not-advancing",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
