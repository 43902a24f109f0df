"""`--format sarif`: SARIF 2.1.0 for code-scanning services. Accepted and suppressed results are marked, not dropped."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from ... import __version__
from ...contracts.finding import Edit, Finding, Location
from ..pipeline.report import Report
from .json import dumps
from .printable import in_cell, many_lines, one_line
from .repository import in_repository
from .rule_docs import description, summary
from .verdict import reason

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """A SARIF log with one run."""
    return dumps(as_sarif(report))


def as_sarif(report: Report) -> dict[str, Any]:
    """The log as plain data. A finding without a place points at the first contract: services refuse one without."""
    codes = sorted({(finding.code, finding.name) for finding in report.findings})
    index = {code: number for number, (code, _) in enumerate(codes)}
    fallback = Location(report.contracts[0]) if report.contracts else None
    # A service closes and opens alerts by this name, so it must not count files, which come and go.
    run = "check" if report.verb == "check" else one_line(report.subject)
    places = {f.fingerprint: f for f in report.findings if f.is_root}
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "contract-lint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(code, name) for code, name in codes],
                    }
                },
                "automationDetails": {"id": f"contract-lint/{quote(run, safe='')}/"},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the project."}}},
                "invocations": [_invocation(report)],
                "results": [
                    _result(f, index[f.code], fallback, places.get(f.caused_by or "")) for f in report.findings
                ],
                "properties": {"captures": list(report.captures)},
            }
        ],
    }


def _invocation(report: Report) -> dict[str, Any]:
    """How the run ended; a target that was not checked is an error of the run, not of the program."""
    ended: dict[str, Any] = {"executionSuccessful": not report.not_checked, "exitCode": report.exit_code}
    notes = [
        {"level": "error", "message": {"text": many_lines(f"not checked on {each.target}: {reason(each)}")}}
        for each in report.not_checked
    ]
    return ended | ({"toolExecutionNotifications": notes} if notes else {})


def _rule(code: str, name: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "name": name}
    text = summary(code)
    if text is not None:
        rule["shortDescription"] = {"text": text}
        rule["fullDescription"] = {"text": description(code) or text}
        rule["help"] = {"text": f"Run `contract-lint explain {code}`."}
    return rule


def _result(finding: Finding, rule: int, fallback: Location | None, root: Finding | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": _message(finding, root)},
        "partialFingerprints": {"contractLint/v1": finding.fingerprint},
        "properties": {
            "confidence": finding.confidence,
            "step": finding.step,
            "targets": list(finding.targets),
            "key": finding.key,
            "instruction": finding.instruction,
            "causedBy": finding.caused_by,
        },
    }
    location = finding.location or fallback
    if location is not None and location.path:
        result["locations"] = [_location(location, finding)]
    if root is not None and root.location is not None and root.location.path:
        related = {"id": 1, "message": {"text": f"the cause, {root.code}"}, **_location(root.location, None)}
        result["relatedLocations"] = [related]
    if finding.status in ("accepted", "suppressed"):
        kind = "external" if finding.status == "accepted" else "inSource"
        why = "accepted in the contract's deviations" if kind == "external" else "suppressed by a comment"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": why}]
    elif finding.status == "baseline":
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": "in the baseline"}]
    # In a notebook an edit is of a cell; of the file's JSON nobody could make it.
    if finding.fix is not None and all(edit.location.cell is None for edit in finding.fix.edits):
        result["fixes"] = [
            {"description": {"text": finding.fix.description}, "artifactChanges": _changes(finding.fix.edits)}
        ]
    return result


def _message(finding: Finding, root: Finding | None) -> str:
    parts = [in_cell(finding) + many_lines(finding.message)]
    parts += [f"Expected: {many_lines(finding.expected)}"] if finding.expected is not None else []
    parts += [f"Found: {many_lines(finding.found)}"] if finding.found is not None else []
    parts += [f"Follows from {root.code}: {many_lines(root.message)}"] if root is not None else []
    parts += [f"Help: {many_lines(finding.help)}"] if finding.help else []
    return "\n".join(parts)


def _location(place: Location, finding: Finding | None) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(place.path)}}
    region = _region(place)
    if region:
        location["physicalLocation"]["region"] = region
    name = (finding.key or finding.instruction) if finding is not None else None
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": one_line(name)}]
    return location


def _artifact(path: str) -> dict[str, Any]:
    # A name that is no text becomes the bytes it is; a backslash parts folders on Windows alone.
    uri = quote(in_repository(path.replace(os.sep, "/")), safe="/-._~", errors="surrogateescape")
    return {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": "SRCROOT"}


def _region(place: Location) -> dict[str, int]:
    """Lines and columns, none in a notebook's cell; SARIF counts an end column past the last character, as we do."""
    if place.line is None or place.cell is not None:
        return {}
    region = {"startLine": place.line}
    if place.column is not None:
        region["startColumn"] = place.column
    if place.end_line is not None:
        region["endLine"] = place.end_line
    if place.end_column is not None:
        region["endColumn"] = place.end_column
    return region


def _changes(edits: tuple[Edit, ...]) -> list[dict[str, Any]]:
    by_path: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        change = {"deletedRegion": _region(edit.location) or {"startLine": 1}, "insertedContent": {"text": edit.text}}
        by_path.setdefault(edit.location.path, []).append(change)
    return [{"artifactLocation": _artifact(path), "replacements": changes} for path, changes in by_path.items()]
