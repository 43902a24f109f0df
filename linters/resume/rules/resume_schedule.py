"""A run that was taken up again has another learning rate than one that was not.

## What it does
With `checkpoint resume`, compares the value that the step gives as `learning_rate` behind each resume with the run that
never stopped, to the bit.

## Why is this bad?
A schedule that begins again warms up a second time at the middle of a run; one that is counted in another unit decays
too early.

## Example
```python
rate = schedule(steps_since_start)      # 0 after each restart
```

## Use instead
```python
rate = schedule(state.step)
```

## References
- https://github.com/Nerogar/OneTrainer/issues/1604
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.resume import RATE
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    different = evidence.first_difference(RATE)
    if different is None:
        return
    before, seen = different.before, different.seen
    now = seen.values.get(RATE)
    has = "tells of no learning rate" if now is None else f"has the learning rate {now}"
    yield evidence.finding(
        RULE,
        f"behind {different.which}, step {seen.step:,} {has}, and {before.values[RATE]} in the run that never stopped",
        subject="learning_rate",
        expected=before.values[RATE],
        found=now or "nothing",
        help="save the schedule's count with the state, and let the rate follow from it",
        details={"leg": different.leg, "anew": evidence.from_the_start(different)},
    )


RULE = Rule(
    code="CKP704",
    name="resume-schedule",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
