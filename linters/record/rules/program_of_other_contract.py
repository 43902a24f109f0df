"""A program in a record was compiled for another version of the contract.

## What it does
Compares the digest of the contract that each capture was made for with that of the record's.

## Why is this bad?
Metrics would be published beside a program that did not give them.

## Example
```sh
contract-lint capture small.contract.yaml --target cpu:8 -o capture
sed -i 's/data: 8/data: 4/' small.contract.yaml
contract-lint record create small.contract.yaml --capture capture --metrics metrics.jsonl
```

## Use instead
```sh
contract-lint capture small.contract.yaml --target cpu:8 -o capture
contract-lint record create small.contract.yaml --capture capture --metrics metrics.jsonl
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
    record = evidence.record
    for program in record.programs if record is not None else ():
        if record is not None and program.contract_digest != record.contract.digest:
            yield evidence.finding(
                RULE,
                f"the program of step {program.step} on {program.target} was compiled for another version of "
                f"{record.contract.path}",
                subject=f"{program.target} {program.step}",
                key="programs",
                expected=record.contract.digest,
                found=program.contract_digest,
                help="capture again, then make the record",
            )


RULE = Rule(
    code="EXP609",
    name="program-of-other-contract",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
