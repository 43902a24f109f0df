"""From a record to findings: every rule on records, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from .evidence import RecordEvidence


def judge_record(evidence: RecordEvidence) -> list[Finding]:
    """The findings; the same record and files always give the same list."""
    return sorted(tell_apart([finding for rule in rules("record") for finding in rule.check(evidence)]), key=sort_key)
