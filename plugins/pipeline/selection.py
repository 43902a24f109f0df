"""`--select` and `--ignore`: which rules a command is about."""

from __future__ import annotations

from collections.abc import Iterable

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding
from ...contracts.suggest import did_you_mean
from ...linters.registry import rules


def require_known(patterns: Iterable[str]) -> None:
    """Raises ContractLintError for a pattern that no rule has: a typing error would select, and so find, nothing."""
    codes = [rule.code for rule in rules()]
    names = [rule.name for rule in rules()]
    for pattern in patterns:
        if pattern not in names and not any(code.startswith(pattern.upper()) for code in codes):
            raise ContractLintError(
                f"no rule has the code, prefix or name {pattern!r}",
                help=did_you_mean(pattern, [*codes, *names]) or "`contract-lint rules` lists them",
            )


def selected(findings: Iterable[Finding], select: Iterable[str], ignore: Iterable[str]) -> list[Finding]:
    """The findings whose code starts with, or whose name is, one of `select` (empty: all) and none of `ignore`."""
    chosen, dropped = tuple(select), tuple(ignore)
    return [
        finding for finding in findings if (not chosen or _matches(finding, chosen)) and not _matches(finding, dropped)
    ]


def _matches(finding: Finding, wanted: tuple[str, ...]) -> bool:
    return any(finding.name == each or finding.code.startswith(each.upper()) for each in wanted if each)
