"""The source differed from its commit, and the record does not say in what.

## What it does
Of a source tree with changes, looks for the digest of all that differs from the commit. Also where git did not say
whether anything differs. Checkpoints and what else runs write are no source.

## Why is this bad?
The commit names another program than the one that ran. With a digest, a tree that somebody kept can be proven to be
the one; without, the run cannot be made again.

## Example
```json
{"source": {"commit": "1f0c...", "dirty": true}}
```

## Use instead
```json
{"source": {"commit": "1f0c...", "dirty": true, "dirty_digest": "9b7e..."}}
```

## References
- https://github.com/IDSIA/sacred
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    source = evidence.record.source if evidence.record is not None else None
    if source is None or source.commit is None or source.dirty is False or source.dirty_digest is not None:
        return
    if source.dirty is None and source.undigested is None:
        return  # no command writes that: EXP613
    why = f": {source.undigested}" if source.undigested else ""
    said = "the source differed from commit {}, and what differs has no digest"
    unknown = "nothing says whether the source differed from commit {}"
    yield evidence.finding(
        RULE,
        f"{(said if source.dirty else unknown).format(source.commit)}{why}",
        subject="source",
        key="source.dirty_digest",
        help="commit before the run; large files that are not tracked belong into .gitignore",
    )


RULE = Rule(
    code="EXP605",
    name="dirty-without-digest",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
