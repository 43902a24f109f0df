"""Verdicts that a fast compile cannot give: near a memory limit the step is compiled again at full effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...contracts.load import LoadedContract
from ...contracts.model import format_bytes
from ...hlo_tools.capture import Capture
from ...linters.judge import evidence_of
from ...linters.program.limits import FULL_OVER_FAST, open_limits
from .capture import capture_targets
from .judged import target_of


def proven(
    loaded: LoadedContract, captures: Sequence[Capture], say: Callable[[str], None], **options: Any
) -> list[Capture]:
    """The captures, those whose memory came near a limit at fast effort replaced by ones made at full effort.

    `options` are those of `capture_targets`, without `effort`.
    """
    found = []
    for capture in captures:
        close = [limit for evidence in evidence_of(loaded, [capture]) for limit in open_limits(evidence)]
        if not close:
            found.append(capture)
            continue
        target, worst = target_of(capture), max(close, key=lambda limit: limit.used / limit.allowed)
        say(
            f"{target}: {worst.what} took {format_bytes(worst.used)} of {format_bytes(worst.allowed)} at fast effort; "
            f"within a factor of {FULL_OVER_FAST:g}, so it is compiled again at full effort"
        )
        found += capture_targets(loaded, [target], effort="full", say=say, **options)
    return found
