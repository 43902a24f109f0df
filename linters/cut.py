"""Lists in findings that are too long to print whole."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 20


def shown(lines: Iterable[str], most: int = SHOWN) -> tuple[str, ...]:
    """The first `most` lines and, where there are more, how many: `and 12 more`."""
    lines = tuple(lines)
    left = len(lines) - most
    return (*lines[:most], f"and {left:,} more") if left > 0 else lines
