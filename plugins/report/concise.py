"""`--format concise`: one line for each new finding, as editors and `grep` read it, then the headline."""

from __future__ import annotations

from ...contracts.finding import Location
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report
from .printable import one_line, place
from .verdict import headline


def render(report: Report) -> str:
    """`train.py:5:4: error JIT103 tracer-branch: the message`, in the order of the files; what follows from another
    finding is a line too."""
    listed = [finding for root in report.new_roots() for finding in (root.finding, *root.consequences)]
    listed.sort(key=lambda finding: (finding.location is None, _order(finding.location)))
    lines = [
        f"{place(each) or report.subject}: {each.severity} {one_line(f'{each.code} {each.name}: {each.message}')}"
        for each in listed
    ]
    lines += [f"{each.location or report.subject}: error {one_line(_open(each))}" for each in report.not_checked]
    return "\n".join([*lines, headline(report)]) + "\n"


def _open(each: NotChecked) -> str:
    return f"not checked on {each.target}: {each.message}" + (f"; {each.help}" if each.help else "")


def _order(place: Location | None) -> tuple[str, int, int, int]:
    return ("", 0, 0, 0) if place is None else (place.path, place.cell or 0, place.line or 0, place.column or 0)
