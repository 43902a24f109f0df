"""From a checkpoint to findings: every rule on checkpoints, sorted."""

from __future__ import annotations

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from ..verdict.deviations import Verdict, accept
from .evidence import CheckpointEvidence


def judge_checkpoint(evidence: CheckpointEvidence) -> list[Finding]:
    """The findings, those marked that the contract accepts; the same checkpoint always gives the same list."""
    found = tell_apart([finding for rule in rules("checkpoint") for finding in rule.check(evidence)])
    if evidence.loaded is not None:
        found = accept(Verdict(evidence.loaded, tuple(found), ()))
    return sorted(found, key=sort_key)
