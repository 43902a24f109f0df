"""The files of a run's observations: their names, and what the numbers in them are."""

from __future__ import annotations

import re

SCHEMA = 1
CONFIG = "config.json"
METRICS = "metrics.jsonl"
STATISTICS = ("norm", "mean", "min", "max", "nan", "inf")
"""Of each array, in this order: over its finite elements, then how many are not."""
_NUMBERED = re.compile(r"(statistics|batch)-(\d{8,18})\.safetensors")


def statistics_file(step: int) -> str:
    """Statistics behind `step` finished steps."""
    return f"statistics-{step:08}.safetensors"


def batch_file(step: int) -> str:
    """The batch that the last of `step` finished steps was given."""
    return f"batch-{step:08}.safetensors"


def numbered(name: str) -> tuple[str, int] | None:
    """`("statistics", 100)` of the name of a file; None for any other."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match is not None else None
