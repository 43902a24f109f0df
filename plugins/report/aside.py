"""What was set aside, for people: each finding where they are few, else how many of each rule."""

from __future__ import annotations

from collections import Counter

from ..pipeline.report import Report, Root
from .printable import joined, one_line, place, plural
from .verdict import title

FEW = 6
"""Findings that are listed one by one."""


def set_aside(report: Report) -> tuple[str, list[str]]:
    """A heading and a line for each finding, or for each rule; nothing where nothing is set aside.

    What a baseline holds is left out unless each is wanted: those may be thousands, and the headline counts them.
    """
    left_out = ("new",) if report.verbose else ("new", "baseline")
    aside = [root for root in report.roots() if root.finding.status not in left_out]
    if not aside:
        return "", []
    statuses = Counter(root.finding.status for root in aside)
    heading = f"Set aside ({joined(f'{count:,} {status}' for status, count in sorted(statuses.items()))}):"
    if len(aside) <= FEW or report.verbose:
        return heading, [_line(root) for root in aside]
    rules = Counter(f"{root.finding.status} {title(root)}" for root in aside)
    lines = [f"{count:,} {what}" for what, count in sorted(rules.items(), key=lambda each: (-each[1], each[0]))]
    return f"{heading[:-1]}; -v lists each:", lines


def _line(root: Root) -> str:
    folded = f" (+{plural(len(root.consequences), 'consequence')})" if root.consequences else ""
    where = place(root.finding)
    message = one_line(root.finding.message)
    return f"{root.finding.status} {title(root)}{folded} {where + ': ' if where else ''}{message}"
