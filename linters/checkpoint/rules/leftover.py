"""Temporary files of a save or a copy are still there.

## What it does
Looks for temporary names beside the steps (`*.orbax-checkpoint-tmp*`, `*.partial_save`) that are not newer than the
latest committed one, and inside the step that is read; also for lock files, and for the names that tools which copy
give to a file until they have all of it (`.NAME.Xa81Kd` of rsync, `NAME_.gstmp`, `NAME.partial`, `NAME.tmp`, `NAME~`).

## Why is this bad?
They are the remains of a save or a copy that was killed: they fill the disk, tools that match names loosely count
them as steps, and of what a copy left there may be more that it never began.

## Example
```sh
contract-lint checkpoint check run/checkpoints   # 1000/, 1000.orbax-checkpoint-tmp-17/, 2000/
```

## Use instead
```sh
rm -r run/checkpoints/1000.orbax-checkpoint-tmp-17
contract-lint checkpoint check run/checkpoints
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    checkpoint = evidence.checkpoint
    unfinished = {checkpoint.step.folder} if checkpoint.step.state == "temporary" else set()
    latest = checkpoint.latest.number if checkpoint.latest is not None else None
    for step in checkpoint.steps:
        if latest is None or step.number is None or step.number > latest:
            unfinished.add(step.folder)  # `checkpoint-uncommitted` says so
    left = [path for path in checkpoint.leftovers if path not in unfinished]
    if left:
        yield evidence.finding(
            RULE,
            f"{counted(len(left), 'temporary name')} of a save or a copy {'is' if len(left) == 1 else 'are'} left "
            f"(first: {left[0]})",
            subject="leftovers",
            expected="no temporary names",
            found=f"{len(left):,}",
            evidence=shown(left),
            help="if no save and no copy is running, remove them",
            details={"paths": left},
        )


RULE = Rule(
    code="CKP602",
    name="leftover-temporary",
    severity="warning",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
