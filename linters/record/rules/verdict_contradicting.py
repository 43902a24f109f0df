"""The verdict in a record contradicts itself.

## What it does
Holds the verdict that `verify` gave against its own first line, the counts of its findings and their list: PASS, FAIL
or INCOMPLETE, how many errors, warnings and infos, and as many findings. Without an error nothing fails by itself; with
one nothing passes, but where the first line says `--fail-on never`. A verdict from a report is held to its file
(`EXP612`).

## Why is this bad?
`verify` says all of it at once, from one list. A record in which they differ was edited, and what the step really does
is in the part that was left as it was.

## Example
```json
{"verdict": "pass", "headline": "FAIL small on cpu:8: 1 error.", "summary": {"error": 1}}
```

## Use instead
```json
{"verdict": "fail", "headline": "FAIL small on cpu:8: 1 error.", "summary": {"error": 1}}
```

## References
- https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ....contracts.finding import SEVERITY_RANK, Finding
from ....contracts.record import VerdictState
from ...rule import Rule
from ..evidence import RecordEvidence

_WORDS = {"pass": ("PASS ", "NOTHING CHECKED"), "fail": ("FAIL ",), "incomplete": ("INCOMPLETE ",)}
_FINDING = re.compile(r"[A-Z]{3}\d{3} [0-9a-f]{16}")
_NEVER = "--fail-on never"


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    for number, verdict in enumerate(record.verdicts) if record is not None else ():
        if record is None or verdict.source is not None:
            continue
        for what, said, expected, found in _faults(verdict, record.name):
            yield evidence.finding(
                RULE,
                said,
                subject=f"{number} {what}",
                key=f"verdicts[{number}].{what}",
                expected=expected,
                found=found,
                evidence=(verdict.headline,),
                help="make a new record: this one was edited, or put together by something else",
            )


_Told = tuple[str, str, str, str]


def _faults(verdict: VerdictState, name: str) -> Iterator[_Told]:
    words, summary = _WORDS[verdict.verdict], verdict.summary
    if not verdict.headline.startswith(words):
        begins = verdict.headline.partition(" ")[0]
        yield "headline", f"the verdict is {verdict.verdict}, and its first line says {begins}", words[0], begins
    if {*summary} != {*SEVERITY_RANK}:
        yield "summary", "findings are counted by other severities", ", ".join(SEVERITY_RANK), ", ".join(summary)
        return
    told = _counted(verdict.headline.replace(name, "", 1))
    for severity, count in summary.items():
        if told.get(severity, 0) != count:
            said = f"the first line of the verdict counts other {severity} findings"
            yield "headline", said, f"{count:,}", f"{told.get(severity, 0):,}"
    total = sum(summary.values())
    if len(verdict.findings) != total:
        yield "findings", "there are not as many findings as are counted", f"{total:,}", f"{len(verdict.findings):,}"
    odd = next((each for each in verdict.findings if not _FINDING.fullmatch(each)), None)
    if odd is not None:
        yield "findings", "a finding is no code with its fingerprint", "CODE and 16 digits", odd
    if verdict.verdict == "fail" and not total:
        yield "verdict", "the verdict is fail, and nothing was found", "pass", "fail"
    if verdict.verdict != "fail" and summary["error"] and _NEVER not in verdict.headline:
        yield "verdict", "there are errors, and the verdict is not fail", "fail", verdict.verdict


def _counted(headline: str) -> dict[str, int]:
    """How many findings of each severity a first line says that there are; behind `First:` is what one of them says."""
    found: dict[str, int] = {}
    for severity in SEVERITY_RANK:
        counts = re.findall(rf"(?<![\w.,])(\d[\d,]*) {severity}s?\b", headline.partition(" First: ")[0])
        if counts:
            found[severity] = int(counts[-1].replace(",", ""))
    return found


RULE = Rule(
    code="EXP618",
    name="verdict-contradicting",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
