"""A record does not say which source was run.

## What it does
Looks for the commit that was checked out where the contract is.

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
    if evidence.record is not None and evidence.record.source.commit is None:
        yield evidence.finding(
            RULE,
            "the record names no commit: the contract lies in no git repository that has one",
            subject="source",
            key="source.commit",
            help="keep the code and its contracts in git",
        )


RULE = Rule(
    code="EXP608",
    name="source-unknown",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
