"""From a batch to findings: every rule on batches, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, merge_targets, sort_key, tell_apart
from ..registry import rules
from .evidence import BatchEvidence


def judge_batch(evidence: BatchEvidence) -> list[Finding]:
    """The findings; the same batch always gives the same list."""
    found = [finding for rule in rules("batch") for finding in rule.check(evidence)]
    return sorted(merge_targets(tell_apart(found)), key=sort_key)
