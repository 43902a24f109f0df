"""`# contract-lint: ignore[CODE] reason` in source: on any line of a statement, alone above it, or for a whole file."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.finding import Edit, Finding, Fix, Location
from ...contracts.problems import UNUSED_SUPPRESSION
from .pattern import Pattern
from .text import SourceText

if TYPE_CHECKING:
    from ..verdict.suppressions import Suppression

_DIRECTIVE = Pattern(r"(?i)#\s*contract-lint\s*:")


def suppress_source(
    findings: Sequence[Finding], source: SourceText, judged: Collection[str], known: Collection[str]
) -> list[Finding]:
    """The findings of one file with its comments applied, and findings on the comments, which carry their fix.

    `judged` are codes and names of the rules that ran, `known` all there are.
    """
    if not source.speaks or not _DIRECTIVE.search(source.text):
        return list(findings)
    from ..verdict.suppressions import FILE, suppress
    from .comments import layout

    seen = layout(source)
    entries: dict[Location, Suppression] = {}

    def covers(entry: Suppression) -> range:
        entries[entry.location] = entry
        return seen.lines_of(entry.location.line or 0)

    marked = suppress(
        findings,
        source.path,
        source.text,
        judged=judged,
        known=known,
        comments=lambda text: seen.comments,
        words=("ignore", FILE),
        covers=covers,
    )
    return [_with_fix(finding, source) if finding.code == UNUSED_SUPPRESSION.code else finding for finding in marked]


def _with_fix(finding: Finding, source: SourceText) -> Finding:
    """The finding of an unused comment with the edit that takes the rule, or the whole comment, away."""
    place = finding.location
    if place is None or place.line is None or place.column is None or finding.fix is not None:
        return finding
    line = source.lines[place.line - 1]
    comment = line[place.column - 1 :]
    rules = re.search(r"\[([^\]]*)\]", comment)
    named = [rule.strip() for rule in rules[1].split(",") if rule.strip()] if rules else []
    left = [rule for rule in named if rule != finding.found]
    if rules is not None and left:
        start = place.column + rules.start(1)
        where = Location(source.path, place.line, start, place.line, start + len(rules[1]))
        return replace(finding, fix=Fix("remove the rule from the comment", (Edit(where, ", ".join(left)),), safe=True))
    before = line[: place.column - 1]
    if before.strip():
        where = Location(source.path, place.line, len(before.rstrip()) + 1, place.line, len(line) + 1)
    elif place.line < len(source.lines):
        where = Location(source.path, place.line, 1, place.line + 1, 1)
    else:
        where = Location(source.path, place.line, 1, place.line, len(line) + 1)
    return replace(finding, fix=Fix("remove the comment", (Edit(where, ""),), safe=True))
