"""`--select`, `--ignore`, `--preview` and `--certain`: which rules and findings a command is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding, Location
from ...contracts.problems import Problem
from ...contracts.suggest import instead_of
from ...linters.registry import rules
from ...linters.rule import Rule

ALL = "ALL"
"""Stands for every rule."""


def require_known(patterns: Iterable[str], place: Location | None = None) -> None:
    """Raises ContractLintError for a pattern that no rule has: a typing error would select, and so find, nothing.

    `place` is where they are written; None for the command line.
    """
    wanted = list(patterns)
    if all(any(_is(rule, pattern) for rule in rules("source")) for pattern in wanted):
        return  # the rules on contracts, which need far more imports, are not asked
    codes = [rule.code for rule in rules()]
    names = [rule.name for rule in rules()]
    for pattern in wanted:
        known = pattern in (ALL, *names) or any(code.startswith(pattern.upper()) for code in codes)
        if not pattern or not known:
            raise ContractLintError(
                f"no rule has the code, prefix or name {pattern!r}", place, instead_of(pattern, codes, names)
            )


def selected(findings: Iterable[Finding], select: Iterable[str], ignore: Iterable[str]) -> list[Finding]:
    """The findings whose code starts with, or whose name is, one of `select` (empty: all) and none of `ignore`."""
    chosen, dropped = tuple(select), tuple(ignore)
    return [
        finding for finding in findings if (not chosen or _matches(finding, chosen)) and not _matches(finding, dropped)
    ]


def judging(rule: Rule | Problem, select: Sequence[str], ignore: Sequence[str], preview: bool) -> bool:
    """Whether a rule's findings are shown. A rule in preview is also shown where it is selected by its full name."""
    if getattr(rule, "preview", False) and not preview and not {rule.code, rule.name} & {*map(str.strip, select)}:
        return False
    return (not select or _is_any(rule, select)) and not _is_any(rule, ignore)


def _is_any(rule: Rule | Problem | Finding, wanted: Iterable[str]) -> bool:
    return any(_is(rule, each) for each in wanted)


def _is(rule: Rule | Problem | Finding, pattern: str) -> bool:
    return bool(pattern) and (rule.name == pattern or rule.code.startswith(pattern.upper()) or pattern == ALL)


def _matches(finding: Finding, wanted: tuple[str, ...]) -> bool:
    return _is_any(finding, wanted)
