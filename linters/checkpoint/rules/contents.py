"""Files of a checkpoint are not what they were when its digests were written.

## What it does
With `--digests FILE`, reads every file of the step and compares names and sha256 with the list that
`checkpoint digests` wrote. Where the step's own metadata differs, and more, they are the digests of another save: one
finding.

## Why is this bad?
A byte that flips in a copy is a number that changes; no reader of arrays notices. Swapped shards have the
right shapes.

## Example
```sh
contract-lint checkpoint digests run/1000 --output 1000.digests.json
cp other/1000/state/d/* run/1000/state/d/
contract-lint checkpoint check run/1000 --digests 1000.digests.json
```

## Use instead
```sh
contract-lint checkpoint digests run/1000 --output 1000.digests.json
contract-lint checkpoint check run/1000 --digests 1000.digests.json
```

## References
- https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/dist_checkpointing/validation.py
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence
from ..steps import STEP_METADATA


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    digests = evidence.digests
    if digests is None:
        return
    was = {entry.path: entry for entry in digests.promised.files}
    now = {entry.path: entry for entry in digests.there.files}
    other = digests.changed
    if STEP_METADATA in other and len(other) > 1:
        yield _another(evidence, other, len({*was, *now}), digests.path)
        return
    for path in other:
        old, new = was.get(path), now.get(path)
        if new is None:
            said = "is not there"
        elif old is None:
            said = "is not in the list of digests"
        else:
            said = "has another content than when its digest was written"
            said += f": {old.bytes:,} B then, {new.bytes:,} B now" if old.bytes != new.bytes else ""
        yield evidence.finding(
            RULE,
            f"{path} {said}",
            subject=path,
            file=path,
            expected=old.sha256 if old is not None else "no such file",
            found=new.sha256 if new is not None else "no file",
            evidence=(f"digests: {digests.path}",),
            help="bring the file back, or restore another step",
        )


def _another(evidence: CheckpointEvidence, other: list[str], of: int, listed: str) -> Finding:
    """The step's own metadata has the times of its save: where that and more differ, it is another save."""
    return evidence.finding(
        RULE,
        f"{len(other):,} of {of:,} files are not as in {listed}, {STEP_METADATA} with the time of the save among them: "
        "the digests are of another step, or of another save of this one",
        subject="another save",
        expected=f"the step that {listed} is of",
        found=f"{len(other):,} files of {of:,} differ",
        evidence=shown(other),
        help="name the step that they are of (--step N), or write digests of this one",
        details={"paths": other},
    )


RULE = Rule(
    code="CKP613",
    name="contents-changed",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
