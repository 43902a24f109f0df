"""More steps are kept than promised.

## What it does
Of the committed steps in the folder, `retention.last` newest ones stay, and every multiple of `retention.every`.

## Why is this bad?
Disks that fill up end a run in the middle of a save.

## Example
```yaml
checkpoint: { retention: { last: 2, every: 1000 } }   # steps 1000, 1400, 1500, 1600
```

## Use instead
```yaml
checkpoint: { retention: { last: 3, every: 1000 } }
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/api_refactor.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    promised = evidence.section.retention
    steps = [step for step in evidence.checkpoint.steps if step.state == "committed" and step.number is not None]
    if promised is None or not steps:
        return
    old = steps[: -promised.last]
    extra = [step.folder for step in old if promised.every is None or (step.number or 0) % promised.every]
    if extra:
        rest = f" and every {promised.every:,}" if promised.every is not None else ""
        yield evidence.finding(
            RULE,
            f"{counted(len(extra), 'step')} should be gone (first: {extra[0]}): "
            f"promised are the last {promised.last:,}{rest}",
            subject="retention",
            key="checkpoint.retention",
            expected=f"the last {promised.last:,}{rest}",
            found=f"{len(steps):,} committed steps",
            evidence=shown(extra) if len(extra) > 1 else (),
            help="remove them, or keep more on purpose",
        )


RULE = Rule(
    code="CKP612",
    name="checkpoint-retention",
    severity="warning",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
