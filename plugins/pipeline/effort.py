"""Verdicts that a fast compile cannot give: what it leaves open is decided by a full one before anything is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...contracts.load import LoadedContract
from ...contracts.model import format_bytes
from ...hlo_tools.capture import Capture
from ...linters.evidence import StepEvidence
from ...linters.judge import evidence_of
from ...linters.program.limits import left_to_full, open_limits, refused
from .capture import capture_targets
from .judged import target_of


def proven(
    loaded: LoadedContract, captures: Sequence[Capture], say: Callable[[str], None], **options: Any
) -> list[Capture]:
    """The captures, those whose memory a fast compile leaves open replaced by ones made at full effort.

    `options` are those of `capture_targets`, without `effort`.
    """
    found = []
    for capture in captures:
        left = next((evidence for evidence in evidence_of(loaded, [capture]) if left_to_full(evidence)), None)
        if left is None:
            found.append(capture)
            continue
        say(f"{target_of(capture)}: {_why(left)}, so it is compiled again at full effort")
        found += capture_targets(loaded, [target_of(capture)], effort="full", say=say, **options)
    return found


def _why(evidence: StepEvidence) -> str:
    """What the fast compile leaves open."""
    if refused(evidence):
        return f"{evidence.name} was refused for its size at fast effort, and may need less at full"
    worst = max(open_limits(evidence), key=lambda limit: limit.room / limit.allowed)
    beside = f"{format_bytes(worst.used)} of {format_bytes(worst.allowed)} at fast effort"
    return f"{worst.what} takes {beside}, and stands for full effort only with room for {format_bytes(worst.room)}"
