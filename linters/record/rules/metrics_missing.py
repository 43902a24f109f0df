"""A record of an experiment has no metrics.

## What it does
Looks for one number that was measured, in records of training runs and those made by `record create`. Where a
conclusion rests on nothing, that is `EXP606` alone.

## Why is this bad?
A run without numbers cannot be compared with the next one; months later nobody knows how it went.

## Example
```sh
contract-lint record create small.contract.yaml
```

## Use instead
```sh
contract-lint record create small.contract.yaml --metrics metrics.jsonl
```

## References
- https://arxiv.org/abs/2003.12206
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None or record.kind == "verify" or record.metrics:
        return
    if record.conclusion and not record.verdicts:  # EXP606 says it, and what follows from it
        return
    yield evidence.finding(
        RULE,
        "the record has no metric",
        subject="metrics",
        key="metrics",
        found="0 metrics",
        help="name the file with them: --metrics metrics.jsonl (a JSON object a line), or one JSON object",
    )


RULE = Rule(
    code="EXP604",
    name="metrics-missing",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
