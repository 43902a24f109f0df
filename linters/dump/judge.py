"""From a program or a log to findings: every rule on a program alone, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, merge_targets, sort_key, tell_apart
from ..registry import rules
from .evidence import DumpEvidence


def judge_dump(evidence: DumpEvidence) -> list[Finding]:
    """The findings; the same program always gives the same list. Raises ContractLintError for what cannot be read."""
    found = [finding for rule in rules("dump") for finding in rule.check(evidence)]
    return sorted(merge_targets(tell_apart(found)), key=sort_key)
