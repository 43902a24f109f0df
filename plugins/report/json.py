"""`--format json`: the published shape of findings. Keys are added, never renamed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ... import __version__
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report
from .verdict import headline

if TYPE_CHECKING:
    from ...linters.checkpoint.coverage import Coverage

SCHEMA_VERSION = 1


def as_json(report: Report) -> dict[str, Any]:
    """The report as plain data. `summary` counts new root findings; `targets` holds the tables of the text report."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "contract-lint", "version": __version__},
        "verdict": "fail" if report.failing() else "incomplete" if report.not_checked else "pass",
        "headline": headline(report),
        "provenance": {"contracts": list(report.contracts), "captures": list(report.captures)},
        "summary": report.summary(),
        "findings": [finding.as_json() for finding in report.findings],
        "statistics": [
            {
                "code": each.code,
                "name": each.findings[0].name,
                "severity": each.severity,
                "count": each.count,
                "fixable": bool(each.safe or each.unsafe),
                "safe_fixes": each.safe,
                "unsafe_fixes": each.unsafe,
            }
            for each in report.counts()
        ],
        "notes": list(report.notes),
        "not_checked": [_not_checked(each) for each in report.not_checked],
        "resolved": [asdict(row) for row in report.resolved],
        "checkpoint": _checkpoint(report),
        "slots": _slots(report.coverage),
        "targets": [tables.as_json() for tables in report.tables],
    }


def _checkpoint(report: Report) -> dict[str, Any] | None:
    """What `checkpoint check` read, and what its verdict says of it: null where findings forbid to say that."""
    return {**report.checkpoint.as_json(), "said": report.proven} if report.checkpoint is not None else None


def _slots(coverage: Coverage | None) -> dict[str, Any]:
    """Slot -> parameter -> what is saved there; the parameters themselves are the first."""
    rows = (coverage.parameters, *coverage.slots) if coverage is not None else ()
    return {row.name: {path: asdict(cell) for path, cell in row.cells.items()} for row in rows}


def _not_checked(each: NotChecked) -> dict[str, Any]:
    place = each.location
    return {
        "target": each.target,
        "message": each.message,
        "path": place.path if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "help": each.help,
    }


def render(report: Report) -> str:
    """JSON with two spaces of indent, keys in their published order, and a final newline.

    Non-finite numbers become null: JSON has no word for them.
    """
    return dumps(as_json(report))


def dumps(data: Any) -> str:
    """Plain data as JSON text: deterministic, valid (no NaN), ASCII only so that no consumer needs to guess."""
    return json.dumps(_finite(data), indent=2, allow_nan=False) + "\n"


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if data - data == 0 else None
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data if data is None or isinstance(data, (bool, int, str)) else str(data)
