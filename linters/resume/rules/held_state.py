"""What a run tells of its state is not all that a step changes.

## What it does
With `checkpoint resume`, looks at what `state()` of the step's `resumable` gives while the run that never stops goes
on: that there are arrays, that they move, and that every array is among them that the step carries over to the next
(`carry`), by its value in `arguments()`, or, without these, by the size and dtype of the declared argument.

## Why is this bad?
The state is compared behind each resume. What is not in it is restored wrongly without a word.

## Example
```python
def state(self):
    return {"params": self.params}   # and the optimizer's state?
```

## Use instead
```python
def state(self):
    return {"params": self.params, "opt_state": self.opt_state, "step": self.step}
```

## References
- https://github.com/ai2cm/ace/issues/349
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import SHOWN, in_a_line, shown
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    unbroken = evidence.facts.unbroken
    arrays, steps, lacking = len(unbroken.state), len(unbroken.seen), unbroken.lacking or []
    state = "`state()` of the step's `resumable`" if evidence.facts.own else "what the step carries over"
    if not any(seen.state for seen in unbroken.seen):
        said = f"{state} holds no array: nothing shows that what was saved is restored"
        found, help = "no array", "return every array that `advance()` replaces: parameters, optimizer state, counters"
    elif all(seen.state == unbroken.state for seen in unbroken.seen):
        said = f"{state} holds {arrays:,} array{'s' * (arrays != 1)}, and none moved in {steps:,} steps"
        found, help = "nothing moved", "return the arrays as they are behind the last step, not as they were made"
    elif lacking:
        arrays = f"{len(lacking):,} array{'s' * (len(lacking) != 1)}"
        said = f"{state} lacks {arrays} that the step carries over: {in_a_line(lacking, SHOWN)}"
        found, help = f"{arrays} missing", "return them too: what is not there is not compared"
    else:
        return
    yield evidence.finding(
        RULE,
        said,
        subject="state",
        expected="every array that the step changes",
        found=found,
        evidence=shown(lacking),
        help=help,
        details={"lacking": lacking},
    )


RULE = Rule(
    code="CKP709",
    name="held-state",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
