"""`--format gitlab`: a Code Quality report, which GitLab shows in merge requests."""

from __future__ import annotations

import hashlib

from ..pipeline.report import Report
from .json import dumps
from .printable import in_cell, many_lines
from .repository import in_repository
from .verdict import consequences

LEVELS = {"error": "critical", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """One issue for each new root finding. GitLab needs a path and a line: a finding without a place stands at the
    first line of the first contract. Fingerprints are unique within the report."""
    fallback = report.contracts[0] if report.contracts else "contract"
    issues = []
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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
