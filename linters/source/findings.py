"""Findings as plain JSON and back: what the cache keeps, and what worker processes send."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...contracts.finding import Edit, Finding, Fix, Location

PackedFindings = list[dict[str, Any]]


def pack_findings(findings: Iterable[Finding]) -> PackedFindings:
    """Findings as lists and dictionaries that `unpack_findings` reads back."""
    return [_packed(finding) for finding in findings]


def unpack_findings(packed: Any, path: str) -> list[Finding] | None:
    """The findings that were packed, on the file that is now shown as `path`; None for anything else."""
    try:
        return [_unpacked(each, path) for each in packed]
    except (ValueError, TypeError, LookupError):
        return None


_PLAIN = (
    "code",
    "name",
    "severity",
    "message",
    "subject",
    "confidence",
    "expected",
    "found",
    "help",
)


def _packed(finding: Finding) -> dict[str, Any]:
    packed = {name: value for name in _PLAIN if (value := getattr(finding, name)) not in (None, ())}
    if finding.evidence:
        packed["evidence"] = list(finding.evidence)
    if finding.location is not None:
        packed["at"] = _place(finding.location)
    if finding.fix is not None:
        packed["fix"] = [
            finding.fix.description,
            finding.fix.safe,
            [[*_place(edit.location), edit.text] for edit in finding.fix.edits],
            list(finding.fix.needs),
            list(finding.fix.leaves),
        ]
    if finding.details:
        packed["details"] = dict(finding.details)
    return packed


def _place(place: Location) -> list[Any]:
    return [place.line, place.column, place.end_line, place.end_column]


def _unpacked(packed: dict[str, Any], path: str) -> Finding:
    values = dict(packed)
    values["evidence"] = tuple(values.get("evidence", ()))
    at, fix = values.pop("at", None), values.pop("fix", None)
    if at is not None:
        values["location"] = Location(path, *at)
    if fix is not None:
        edits = tuple(Edit(Location(path, *edit[:4]), edit[4]) for edit in fix[2])
        values["fix"] = Fix(fix[0], edits, fix[1], tuple(fix[3]), tuple(fix[4]))
    return Finding(**values)
