"""A record concludes something and has no number to conclude it from.

## What it does
Where there is a conclusion, looks for a metric or a verdict.

## Why is this bad?
A conclusion outlives its run in papers and designs. What rests on nothing that was written down cannot be checked, and
cannot be corrected.

## Example
```sh
contract-lint record create small.contract.yaml --conclusion "twice as fast"
```

## Use instead
```sh
contract-lint record create small.contract.yaml --metrics m.jsonl --conclusion "p50 0.41 s"
```

## References
- https://arxiv.org/abs/2003.12206
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None or not record.conclusion or record.metrics or record.verdicts:
        return
    yield evidence.finding(
        RULE,
        "the record has a conclusion, and neither a metric nor a verdict that it could rest on",
        subject="conclusion",
        key="conclusion",
        found=shorten(record.conclusion, 200),
        help="add what it rests on: --metrics FILE, or --report FILE (a report as JSON)",
    )


RULE = Rule(
    code="EXP606",
    name="conclusion-without-metrics",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
