"""Findings suppressed beside the line they are on: `# contract-lint: ignore[SHD001] reason`.

A comment names one or more rules by code or name and says why. It marks every finding of these rules on its own line
as suppressed (in source: on its statement, and `ignore-file` in the whole file); the finding stays in every report. A
comment that suppresses nothing is a finding, and so is one that gives no reason: it stands for those it suppresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ...contracts.finding import Finding, Location, tell_apart
from ...contracts.problems import INVALID_SUPPRESSION, UNUSED_SUPPRESSION
from ...contracts.suggest import instead_of

_COMMENT = re.compile(
    r"#\s*(?P<tool>(?i:contract-lint))\s*:\s*(?P<word>[\w-]+)\s*(?:\[(?P<rules>[^\]]*)\])?(?P<reason>.*)", re.DOTALL
)
_TOOL = "contract-lint"
# Directives of other tools, behind which ours may stand.
_OTHERS = re.compile(r"(#\s*(noqa|type|pyright|mypy|pylint|pyre|fmt|isort|yapf|ruff|nosec|pragma|nopycln)\b[^#]*)+")


def yaml_comments(text: str) -> Iterable[tuple[int, int, str]]:
    """The comments of a YAML text. Its reader is loaded for the first one: source has no need of it."""
    from ...contracts.comments import yaml_comments as read

    return read(text)


Comments = Callable[[str], Iterable[tuple[int, int, str]]]
"""A text's comments as (line, column, text from `#` on), 1-based."""
NO_REASON = "no reason is given"
FILE = "ignore-file"
"""The directive that holds for a whole file, where there is one."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. `problem` says what is wrong with it; with any but NO_REASON it suppresses nothing."""

    location: Location
    rules: tuple[str, ...]
    reason: str
    problem: str | None = None
    word: str = "ignore"

    @property
    def counts(self) -> bool:
        """Whether it suppresses what it names."""
        return self.problem in (None, NO_REASON)


Covers = Callable[[Suppression], Iterable[int]]
"""The lines that a comment is about."""


def own_line(entry: Suppression) -> Iterable[int]:
    """The line that the comment is on."""
    return () if entry.location.line is None else (entry.location.line,)


def suppressions(
    path: str, text: str, comments: Comments = yaml_comments, words: tuple[str, ...] = ("ignore",)
) -> list[Suppression]:
    """The suppression comments of one file, which begin with one of `words`."""
    if _TOOL not in text.lower():
        return []
    found = []
    for line, column, comment in comments(text):
        others = _OTHERS.match(comment)
        begin = others.end() if others is not None else 0
        match = _COMMENT.match(comment, begin)
        small = match is not None and match["tool"] == _TOOL
        if match is None or not (small or match["word"].lower() in words):
            continue  # in capitals, it may well be prose about this program
        place = Location(path, line, column + begin, line, column + len(comment))
        rules = tuple(dict.fromkeys(rule.strip() for rule in (match["rules"] or "").split(",") if rule.strip()))
        reason = match["reason"].strip()
        problem = None
        if not small or (match["word"] not in words and match["word"].lower() in words):
            problem = f"`{_TOOL}: {match['word'].lower()}` is written in small letters"
        elif match["word"] not in words:
            there = "the one there is is `ignore`" if len(words) == 1 else f"there are `{'` and `'.join(words)}`"
            problem = f"`{match['word'][:40]}` is not a directive, {there}"
        elif not rules:
            problem = "no rule is named"
        elif not reason:
            problem = NO_REASON
        found.append(Suppression(place, rules, reason, problem, match["word"]))
    return found


def suppress(
    findings: Sequence[Finding],
    path: str,
    text: str,
    *,
    judged: Collection[str] | None = None,
    known: Collection[str] | None = None,
    comments: Comments = yaml_comments,
    words: tuple[str, ...] = ("ignore",),
    covers: Covers = own_line,
) -> list[Finding]:
    """The findings, those marked that a comment in `text` (the file `path`) suppresses, and findings on the comments.

    `judged` are the codes and names of the rules that ran: only for them can a comment be called unused (default: all).
    `known` are all codes and names there are: another one in a comment is a mistake (default: any will do).
    `words` are the directives there are, and `covers` says which lines one is about.
    """
    listed = suppressions(path, text, comments, words)
    if not listed:
        return list(findings)
    by_line: dict[int, list[Suppression]] = {}
    everywhere = [entry for entry in listed if entry.counts and entry.word == FILE]
    for entry in listed:
        if entry.counts and entry.word != FILE:
            for line in covers(entry):
                by_line.setdefault(line, []).append(entry)
    used: set[tuple[Location, str]] = set()
    marked = []
    for finding in findings:
        place = finding.location
        here = [*by_line.get(place.line or 0, []), *everywhere] if place is not None and place.path == path else []
        hits = [
            (entry.location, rule) for entry in here for rule in entry.rules if rule in (finding.code, finding.name)
        ]
        used.update(hits)
        marked.append(replace(finding, status="suppressed") if hits and finding.status == "new" else finding)
    unit = "line" if covers is own_line else "statement"
    return marked + tell_apart(found for entry in listed for found in _judge(entry, used, judged, known, unit))


def _judge(
    entry: Suppression,
    used: set[tuple[Location, str]],
    judged: Collection[str] | None,
    known: Collection[str] | None,
    unit: str,
) -> Iterable[Finding]:
    if not entry.counts:
        yield _invalid(entry, f"the comment suppresses nothing: {entry.problem}")
        return
    others = list(_judge_rules(entry, used, judged, known, unit))
    # Of a comment that is to go for every rule in it, no reason is wanted.
    if entry.problem is not None and len(others) < len(entry.rules):
        yield _invalid(entry, "the comment does not say why: a reason belongs behind the rules")
    yield from others


def _invalid(entry: Suppression, message: str) -> Finding:
    return INVALID_SUPPRESSION.at(
        entry.location,
        message,
        subject=f"{entry.location.path}: {entry.problem}: {','.join(entry.rules)}",
        expected="# contract-lint: ignore[CODE] reason",
    )


def _judge_rules(
    entry: Suppression,
    used: set[tuple[Location, str]],
    judged: Collection[str] | None,
    known: Collection[str] | None,
    unit: str,
) -> Iterable[Finding]:
    """The rules of a comment that there are not, and those that are not found where it stands."""
    for rule in entry.rules:
        if known is not None and rule not in known:
            yield INVALID_SUPPRESSION.at(
                entry.location,
                f"there is no rule `{rule[:60]}`",
                subject=f"{entry.location.path}: {rule}",
                found=rule,
                help=instead_of(rule, known, known, whole=True),
            )
        elif (entry.location, rule) not in used and (judged is None or rule in judged):
            where = "in this file" if entry.word == FILE else f"on this {unit}"
            yield UNUSED_SUPPRESSION.at(
                entry.location,
                f"no finding of `{rule}` is {where}",
                subject=f"{entry.location.path}: {rule}: {entry.reason[:80]}",
                found=rule,
                help="remove the comment",
            )
