"""From a checkpoint to findings: every rule on checkpoints, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from .evidence import CheckpointEvidence


def judge_checkpoint(evidence: CheckpointEvidence) -> list[Finding]:
    """The findings; the same checkpoint always gives the same list."""
    found = [finding for rule in rules("checkpoint") for finding in rule.check(evidence)]
    return sorted(tell_apart(found), key=sort_key)
