"""From a batch to findings: every rule on batches, sorted."""

from __future__ import annotations

from dataclasses import replace

from ...contracts.finding import Finding, merge_targets, sort_key, tell_apart
from ..registry import rules
from .evidence import BatchEvidence


def judge_batch(evidence: BatchEvidence) -> list[Finding]:
    """The findings; the same batch always gives the same list."""
    found = [finding for rule in rules("batch") for finding in rule.check(evidence)]
    return sorted(_folded(merge_targets(tell_apart(found))), key=sort_key)


def _folded(findings: list[Finding]) -> list[Finding]:
    """Segment ids that nothing reads follow from an attention that does not ask for them: its leak says more."""
    leak = next((finding for finding in findings if finding.name == "segment-leak"), None)
    if leak is None:
        return findings
    return [
        replace(finding, caused_by=leak.fingerprint)
        if finding.name == "dead-field" and finding.details.get("role") == "segment_ids"
        else finding
        for finding in findings
    ]
