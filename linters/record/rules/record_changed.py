"""A record's bytes are not those that its name promises.

## What it does
Compares the sha256 of the file with the one that its name carries. Where they differ, nothing in the record is
believed, and no other rule looks at it.

## Why is this bad?
A number that was edited by hand, or a byte that flipped in a copy, is no result of this run.

## Example
```sh
sed -i 's/"fail"/"pass"/' .contract-lint/records/small.*.record.json
contract-lint record verify latest
```

## Use instead
```sh
contract-lint record create small.contract.yaml --metrics metrics.jsonl
```

## References
- https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, Location
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    if evidence.promised not in (None, evidence.digest):
        yield evidence.finding(
            RULE,
            "this record was changed after it was written: its sha256 is not the one in its name",
            subject="record",
            location=Location(evidence.path),
            expected=evidence.promised,
            found=evidence.digest,
            help="take it from where it was written, or make a new one",
        )


RULE = Rule(
    code="EXP601",
    name="record-changed",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
