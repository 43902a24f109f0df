"""A run that was killed while it saved does not go on from the last committed step.

## What it does
`checkpoint resume` kills the run before the commit of a save, before the last of several renames, between its items,
and while it finalises in the background; where a save has no such points, at its first write, before its last, and at
its last. Whatever was saved and waited for before must be taken up, and of the save that did not end nothing, unless it
was committed.

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
from ..told import stopped


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    legs = evidence.facts.legs
    for index, (leg, following) in enumerate(pairwise(legs), 1):
        safe = max([leg.restored, *leg.saved])
        newest = safe if leg.committed is None else max(leg.committed, safe)
        allowed = {newest}
        if leg.committed is None and leg.killed is not None and leg.begun is not None:
            allowed.add(leg.begun)
        torn = evidence.torn.get(index)
        if following.failed is not None:
            failed = following.failed
            took, found = f"then its `{failed.method}()` fails: {failed.error}", failed.error
        elif torn is not None:
            took, found = f"goes on from that torn step: {torn[0]} is not what it was", f"step {following.restored:,}"
        elif following.restored in allowed:
            continue
        else:
            took = f"goes on from step {following.restored:,}" if following.restored else "begins anew"
            found = f"step {following.restored:,}" if following.restored else "nothing"
        yield evidence.finding(
            RULE,
            f"the run {stopped(leg)}, and {took}; step {newest:,} was committed",
            subject=leg.killed or "ended",
            expected=f"step {newest:,}",
            found=found,
            evidence=following.failed.frames if following.failed is not None else (),
            help="write under a temporary name, rename when all is there, and take up the newest that has its name",
            details={"leg": index, "anew": following.failed is None and not following.restored},
        )


RULE = Rule(
    code="CKP705",
    name="step-lost",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
