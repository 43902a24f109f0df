"""A step was never committed, or newer saves than the last committed one did not end.

## What it does
A save writes under a temporary name and renames it when all is there; object stores get `commit_success.txt` instead.
Looks for the name, the commit time in `_CHECKPOINT_METADATA`, and the marker where the contract or an older step has
one. Of saves behind the last committed one it is a warning where Orbax does not count them: those with a temporary
name, and those without the marker where `checkpoint.commit` is `marker`. It is an error where Orbax goes by names and
so takes the unfinished step for the latest.

## Why is this bad?
What a killed save leaves can look like a checkpoint. Restored, it gives a state that no step ever had; a trainer that
only compares numbers then also skips the saves that would have replaced it.

## Example
```sh
contract-lint checkpoint check run   # 1000/, 2000.orbax-checkpoint-tmp/ (killed)
```

## Use instead
```sh
rm -r run/2000.orbax-checkpoint-tmp
contract-lint checkpoint check run   # 1000/
```

## References
- https://github.com/AI-Hypercomputer/maxtext/pull/5260
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    checkpoint = evidence.checkpoint
    latest = checkpoint.latest
    key = "checkpoint.commit" if evidence.section.commit == "marker" else None
    last = f"the latest committed step is {latest.folder}" if latest is not None else "no step here is committed"
    if checkpoint.step.state != "committed":
        known = f"; {last}" if checkpoint.steps else ""
        yield evidence.finding(
            RULE,
            f"{checkpoint.step.folder} is not committed: {checkpoint.step.why}{known}",
            subject=checkpoint.step.folder,
            key=key,
            expected="a committed step",
            found=checkpoint.step.state,
            help=f"restore {latest.folder}" if latest is not None else "restore another checkpoint",
            details={"latest": latest.folder if latest is not None else None},
        )
    for step in checkpoint.steps:
        newer = latest is not None and (step.number is None or step.number > (latest.number or 0))
        if step.state == "committed" or step.folder == checkpoint.step.folder or not newer:
            continue
        # A run that goes by names takes every step without a temporary one, whatever is in it.
        taken = step.state == "unfinished" and evidence.section.commit == "rename"
        help = "if no save is running, remove it: the run resumes from the latest committed step"
        yield evidence.finding(
            RULE,
            f"{step.folder} is newer than the latest committed step and was not committed: {step.why}; {last}"
            + (f", and Orbax takes {step.folder} for it" if taken else ""),
            subject=step.folder,
            severity="error" if taken else "warning",
            key=key,
            beside=step.folder,
            expected="a committed step",
            found=step.state,
            help="remove it, or save it again: CheckpointManager.latest_step() goes by names" if taken else help,
            details={"latest": latest.folder if latest is not None else None},
        )


RULE = Rule(
    code="CKP601",
    name="checkpoint-uncommitted",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
