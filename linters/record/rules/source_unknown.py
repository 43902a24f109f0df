"""A record does not say which source was run.

## What it does
Looks for the commit that was checked out where the contract is. Where git named none, it says what git said: no
repository, no commit yet, a `.git` that is damaged, no `git` at all.

## Why is this bad?
Everything else in a record says how the code was run, and nothing says which code.

## Example
```json
{"source": {}}
```

## Use instead
```json
{"source": {"commit": "1f0c...", "dirty": false}}
```

## References
- https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    source = evidence.record.source if evidence.record is not None else None
    if source is not None and source.commit is None:
        why = f": {source.undigested}" if source.undigested else ""
        yield evidence.finding(
            RULE,
            f"the record names no commit{why}",
            subject="source",
            key="source.commit",
            help="keep the code and its contracts in git, and see that `git status` works there",
        )


RULE = Rule(
    code="EXP608",
    name="source-unknown",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
