"""From the facts of a resume to findings: what follows from another is folded under it."""

from __future__ import annotations

from dataclasses import replace

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from ..verdict.deviations import Verdict, accept
from .evidence import ResumeEvidence

CAUSES = ("CKP705", "CKP706", "CKP702", "CKP703", "CKP704")
"""What explains that a resumed run gives other numbers, the first cause first."""
EFFECT = "CKP701"


def judge_resume(evidence: ResumeEvidence) -> list[Finding]:
    """The findings, those marked that the contract accepts; the same facts always give the same list."""
    found = tell_apart([finding for rule in rules("resume") for finding in rule.check(evidence)])
    roots = {finding.code: finding.fingerprint for finding in reversed(found)}
    cause = next((roots[code] for code in CAUSES if code in roots), None)
    folded = [replace(each, caused_by=cause) if each.code == EFFECT and cause else each for each in found]
    return sorted(accept(Verdict(evidence.loaded, tuple(folded), ())), key=sort_key)
