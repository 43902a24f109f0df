"""What ties one finding to another: its code, line, subject, or the collective that both are about."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence, Set
from typing import Any

from ...contracts.finding import Finding

Line = tuple[str, int | None]
Group = tuple[Any, Hashable]


class Ties:
    """Findings by their ties, so that a cause is looked up and not searched for among all of them.

    Those at `silent` explain nothing, and are not found.
    """

    def __init__(self, found: Sequence[Finding], silent: Set[int] = frozenset()) -> None:
        self._first: dict[tuple[Hashable, ...], int] = {}
        for index, finding in enumerate(found):
            if index in silent:
                continue
            line, group = line_of(finding), group_of(finding)
            ties = [(), ("subject", finding.subject), ("group", group), ("group and subject", group, finding.subject)]
            ties += [("line", line)] if line is not None else []
            for tie in ties:
                self._first.setdefault((finding.code, *tie), index)

    def any(self, code: str) -> int | None:
        """The first finding of a code."""
        return self._first.get((code,))

    def on_line(self, code: str, finding: Finding) -> int | None:
        """The first of a code that stands on the same source line."""
        return self._first.get((code, "line", line_of(finding)))

    def near(self, code: str, finding: Finding) -> int | None:
        """The first of a code on the same line or of the same subject; else the first of it."""
        tied = _first_of((self.on_line(code, finding), self._first.get((code, "subject", finding.subject))))
        return self.any(code) if tied is None else tied

    def near_in_group(self, code: str, finding: Finding) -> int | None:
        """The same among those that are about the same kind of collective over the same axes, or on the same line."""
        group = group_of(finding)
        tied = self._first.get((code, "group and subject", group, finding.subject))
        tied = _first_of((self.on_line(code, finding), tied))
        return self._first.get((code, "group", group)) if tied is None else tied


def line_of(finding: Finding) -> Line | None:
    return None if finding.location is None else (finding.location.path, finding.location.line)


def group_of(finding: Finding) -> Group:
    """Kind and axes of the collective that a finding is about."""
    return finding.details.get("kind"), axes_of(finding)


def axes_of(finding: Finding, name: str = "axes") -> Hashable:
    axes = finding.details.get(name)
    return tuple(axes) if isinstance(axes, list) else axes


def _first_of(indices: Collection[int | None]) -> int | None:
    return min((index for index in indices if index is not None), default=None)
