"""Lists in findings that are too long to print whole."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 20
LARGEST = 10
"""Lines of a list that is ordered by size."""


def shown(lines: Iterable[str], most: int = SHOWN) -> tuple[str, ...]:
    """The first `most` lines and, where there are more, how many: `and 12 more`."""
    lines = tuple(lines)
    left = len(lines) - most
    return (*lines[:most], f"and {left:,} more") if left > 0 else lines


def in_a_line(words: Iterable[str], most: int, between: str = ", ") -> str:
    """The first `most` words in one line and, where there are more, how many: `a, b and 12 more`."""
    words = tuple(words)
    left = len(words) - most
    return between.join(words[:most]) + (f" and {left:,} more" if left > 0 else "")
