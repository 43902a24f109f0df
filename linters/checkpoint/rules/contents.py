"""Files of a checkpoint are not what they were when its digests were written.

## What it does
With `--digests FILE`, reads every file of the step and compares names and sha256 with the list that
`checkpoint digests` wrote.

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
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    digests = evidence.digests
    if digests is None:
        return
    was = {entry.path: entry for entry in digests.promised.files}
    now = {entry.path: entry for entry in digests.there.files}
    for path in sorted({*was, *now}):
        old, new = was.get(path), now.get(path)
        if old is not None and new is not None and old.sha256 == new.sha256:
            continue
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


RULE = Rule(
    code="CKP613",
    name="contents-changed",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
