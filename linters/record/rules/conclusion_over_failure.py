"""A record concludes something although a check of the same run did not pass.

## What it does
Where there is a conclusion, looks at the verdicts beside it.

## Why is this bad?
A step that breaks its contract computes something else than was promised: what is concluded from it is not about the
promise.

## Example
```sh
contract-lint verify small.contract.yaml --format json --output report.json     # FAIL
contract-lint record create small.contract.yaml --report report.json --conclusion "it helps"
```

## Use instead
```sh
contract-lint verify small.contract.yaml --format json --output report.json     # PASS
contract-lint record create small.contract.yaml --report report.json --conclusion "it helps"
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
    if record is None or not record.conclusion:
        return
    for number, verdict in enumerate(record.verdicts):
        if verdict.verdict != "pass":
            yield evidence.finding(
                RULE,
                f"the record has a conclusion, and `{verdict.verb}` did not pass",
                subject=f"{verdict.verb} {number}",
                key=f"verdicts[{number}]",
                expected="pass",
                found=verdict.verdict,
                evidence=(verdict.headline,),
                help="mend it, accept it in `deviations` with a reason, or say in the conclusion what it leaves open",
            )


RULE = Rule(
    code="EXP610",
    name="conclusion-over-failure",
    severity="warning",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
