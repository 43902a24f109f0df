"""A run that was taken up again is given other batches than one that was not.

## What it does
With `checkpoint resume`, compares the digest of every batch behind each resume with that of the same step in the run
that never stopped, and says which step's batch came instead.

## Why is this bad?
Documents are read twice or never. A cursor that does not move on after the first resume is right once and rewinds at
the second, so both are tried.

## Example
```python
def restore(self):
    self.data = iter(loader)   # from the start
```

## Use instead
```python
def restore(self):
    self.data = iter(loader)
    self.data.set_state(load("cursor.json"))
```

## References
- https://github.com/pytorch/torchtitan/issues/3907
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.resume import BATCH
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    different = evidence.first_difference(BATCH)
    if different is None:
        return
    before, seen = different.before, different.seen
    now = seen.values.get(BATCH)
    like = evidence.step_with(BATCH, now)
    if now is None:
        said = "tells of no batch"
    elif like is not None:
        said = f"is given the batch of step {like:,}"
    else:
        said = "is given a batch that the run that never stopped has not seen"
    yield evidence.finding(
        RULE,
        f"behind {different.which}, step {seen.step:,} {said}",
        subject="batch",
        expected=before.values[BATCH],
        found=now or "nothing",
        help="save the loader's cursor with the step, and put it back; `contract-lint batch replay` tries that alone",
        details={"like": like, "leg": different.leg, "anew": evidence.from_the_start(different)},
    )


RULE = Rule(
    code="CKP702",
    name="resume-batch",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
