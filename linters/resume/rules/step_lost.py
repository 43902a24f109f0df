"""A run that was killed while it saved does not go on from the last committed step.

## What it does
`checkpoint resume` kills the run before the commit of a save, between its items, and while it finalises in the
background. Whatever was saved and waited for before must be taken up, and of the save that did not end nothing, unless
it was committed.

## Why is this bad?
Saves are where runs die: disks are full, machines are taken away. A restore that takes the torn step gives a state that
no step ever had; one that gives up loses the run.

## Example
```python
shutil.rmtree(folder / "latest")        # then the new one is written there
save(folder / "latest", state)
```

## Use instead
```python
save(folder / f"{step}.tmp", state)
os.rename(folder / f"{step}.tmp", folder / str(step))
```

## References
- https://github.com/AI-Hypercomputer/maxtext/pull/5260
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    legs = evidence.facts.legs
    for index, (leg, following) in enumerate(pairwise(legs), 1):
        safe = max([leg.restored, *leg.saved])
        newest = safe if leg.committed is None else max(leg.committed, safe)
        allowed = {newest} if leg.committed is not None else {safe, leg.begun if leg.begun is not None else safe}
        if following.restored in allowed:
            continue
        where = f"killed {leg.killed}" if leg.killed is not None else "ended"
        begun = f" of the save of step {leg.begun:,}" if leg.begun is not None else ""
        took = f"goes on from step {following.restored:,}" if following.restored else "begins anew"
        yield evidence.finding(
            RULE,
            f"the run was {where}{begun}, and {took}: step {newest:,} was committed",
            subject=str(leg.killed),
            expected=f"step {newest:,}",
            found=f"step {following.restored:,}" if following.restored else "nothing",
            help="write under a temporary name, rename when all is there, and take up the newest that has its name",
            details={"leg": index, "anew": not following.restored},
        )


RULE = Rule(
    code="CKP705",
    name="step-lost",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
