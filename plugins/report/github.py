"""`--format github`: workflow commands, which GitHub Actions shows as annotations on the changed lines."""

from __future__ import annotations

from ...contracts.finding import Finding
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report, Root
from .printable import in_cell, many_lines, one_line
from .repository import in_repository
from .verdict import consequences, headline, reason, title

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """The headline, then one annotation for each target that was not checked, and for each new root finding with its
    consequences in the text.

    Accepted and suppressed findings give no annotation: the headline counts them.
    """
    lines = [headline(report), *map(_open, report.not_checked)]
    lines += [_annotation(root) for root in report.new_roots()]
    return "\n".join(lines) + "\n"


def _annotation(root: Root) -> str:
    finding = root.finding
    properties = ",".join(f"{name}={_property(value)}" for name, value in _properties(finding, title(root)).items())
    return f"::{LEVELS[root.severity]} {properties}::{_data(_message(root))}"


def _open(each: NotChecked) -> str:
    return f"::error title={_property(f'not checked on {one_line(each.target)}')}::{_data(many_lines(reason(each)))}"


def _properties(finding: Finding, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    place = finding.location
    if place is not None and place.path:
        found["file"] = one_line(in_repository(place.path))
        if place.line is not None and place.cell is None:
            found["line"] = str(place.line)
            if place.end_line is not None:
                found["endLine"] = str(place.end_line)
            # GitHub refuses columns on an annotation that spans several lines.
            if place.column is not None and place.end_line in (None, place.line):
                found["col"] = str(place.column)
                if place.end_column is not None:
                    found["endColumn"] = str(place.end_column)
    found["title"] = one_line(name)
    return found


def _message(root: Root) -> str:
    finding = root.finding
    parts = [in_cell(finding) + many_lines(finding.message)]
    parts += [f"expected: {many_lines(finding.expected)}"] if finding.expected is not None else []
    parts += [f"found: {many_lines(finding.found)}"] if finding.found is not None else []
    parts += [f"help: {many_lines(finding.help)}"] if finding.help else []
    parts += [consequences(root)] if root.consequences else []
    return "\n".join(parts)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
