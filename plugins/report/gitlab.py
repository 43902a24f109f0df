"""`--format gitlab`: a Code Quality report, which GitLab shows in merge requests."""

from __future__ import annotations

import hashlib
from typing import Any

from ...contracts.finding import Location
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report
from .json import dumps
from .printable import in_cell, many_lines
from .repository import in_repository
from .verdict import consequences, reason

LEVELS = {"error": "critical", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """One issue for each target that was not checked and for each new root finding.

    GitLab needs a path and a line: what has no place stands at the first line of the first contract. Fingerprints are
    unique within the report.
    """
    fallback = report.contracts[0] if report.contracts else "contract"
    issues = [_open(each, fallback) for each in report.not_checked]
    for root in report.new_roots():
        finding = root.finding
        place = finding.location
        line = place.line if place is not None and place.cell is None else None
        path = in_repository(place.path if place is not None and place.path else fallback)
        issues.append(
            {
                "description": in_cell(finding)
                + many_lines(finding.message + (f" ({consequences(root)})" if root.consequences else "")),
                "check_name": f"{finding.code} {finding.name}",
                "fingerprint": _digest(f"{finding.fingerprint}\0{path}"),
                "severity": LEVELS[root.severity],
                "location": {"path": path, "lines": {"begin": line or 1}},
            }
        )
    return dumps(issues)


def _open(each: NotChecked, fallback: str) -> dict[str, Any]:
    place = each.location or Location(fallback)
    return {
        "description": many_lines(f"not checked on {each.target}: {reason(each)}"),
        "check_name": "not checked",
        "fingerprint": _digest(f"not checked\0{fallback}\0{each.target}"),
        "severity": "blocker",
        "location": {"path": in_repository(place.path), "lines": {"begin": place.line or 1}},
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
