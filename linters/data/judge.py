"""From data to findings: every rule on data, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from .evidence import DataEvidence


def judge_data(evidence: DataEvidence) -> list[Finding]:
    """The findings; the same data always gives the same list."""
    return sorted(tell_apart([finding for rule in rules("data") for finding in rule.check(evidence)]), key=sort_key)
