"""A finding: one broken promise, as data. Every report format is a view of a list of these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "likely"]
Status = Literal["new", "baseline", "suppressed", "accepted"]

SEVERITY_RANK: dict[str, int] = {"info": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file. Lines and columns are 1-based; None where unknown. In a notebook they count within `cell`."""

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    cell: int | None = None

    def __str__(self) -> str:
        cell = None if self.cell is None else f"cell {self.cell}"
        return ":".join(str(part) for part in (self.path, cell, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of the text between two places of one file."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding. `safe` means: the program's numbers cannot change.

    `needs` are imports that the edited text uses, `leaves` those that it may have left without use; both as
    `package.module` or `package.module:name`, with ` as other` behind where it has another name in the file.
    """

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False
    needs: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken promise.

    `message` is one sentence that says what is wrong, with the numbers. `subject` names the thing at
    fault (a tensor path, a contract key, a collective's kind and axes) without line numbers: rule, step,
    subject and file make the fingerprint, so it survives line shifts and is the same on every target. `ordinal` counts
    those that agree in all of these, in the order of their lines (see `tell_apart`). `details` holds the
    machine-readable facts (kind, axes, path, ...) that a deviation's `match` compares with.
    """

    code: str
    name: str
    severity: Severity
    message: str
    subject: str
    confidence: Confidence = "certain"
    step: str | None = None
    targets: tuple[str, ...] = ()
    location: Location | None = None
    key: str | None = None
    instruction: str | None = None
    expected: str | None = None
    found: str | None = None
    evidence: tuple[str, ...] = ()
    help: str | None = None
    fix: Fix | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    status: Status = "new"
    caused_by: str | None = None
    ordinal: int = 0

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over code, step, subject, the file's path and, from the second on, the ordinal."""
        path = self.location.path if self.location else ""
        count = (str(self.ordinal),) if self.ordinal else ()
        identity = "\0".join((self.code, self.step or "", path, self.subject, *count))
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def is_root(self) -> bool:
        return self.caused_by is None

    def as_json(self) -> dict[str, Any]:
        """The finding in the published shape; unknown places are null."""
        place = self.location or Location(path="")
        return {
            "code": self.code,
            "name": self.name,
            "step": self.step,
            "targets": list(self.targets),
            "severity": self.severity,
            "confidence": self.confidence,
            "message": self.message,
            "path": place.path or None,
            "line": place.line,
            "column": place.column,
            "end_line": place.end_line,
            "end_column": place.end_column,
            "cell": place.cell,
            "key": self.key,
            "instruction": self.instruction,
            "expected": self.expected,
            "found": self.found,
            "evidence": list(self.evidence),
            "help": self.help,
            "fix": _fix_as_json(self.fix),
            "details": dict(self.details),
            "fingerprint": self.fingerprint,
            "status": self.status,
            "caused_by": self.caused_by,
        }


def _fix_as_json(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {
        "description": fix.description,
        "safe": fix.safe,
        "needs": list(fix.needs),
        "leaves": list(fix.leaves),
        "edits": [
            {
                "path": edit.location.path,
                "line": edit.location.line,
                "column": edit.location.column,
                "end_line": edit.location.end_line,
                "end_column": edit.location.end_column,
                "cell": edit.location.cell,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }


def tell_apart(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of several lines that share a fingerprint on one target numbered in the order of the lines.

    Numbers instead of lines: a fingerprint stays when the file shifts. The lines of all targets are counted together,
    so one line has one number on each. What has but one line on every target keeps its fingerprint, whatever line that
    is. For findings that no `caused_by` refers to yet.
    """
    found = list(findings)
    lines: dict[str, dict[tuple[str, ...], set[int]]] = {}
    for finding in found:
        lines.setdefault(finding.fingerprint, {}).setdefault(finding.targets, set()).add(_line(finding))
    numbered = {
        fingerprint: {line: number for number, line in enumerate(sorted(set().union(*by_target.values())))}
        for fingerprint, by_target in lines.items()
        if any(len(on_target) > 1 for on_target in by_target.values())
    }
    if not numbered:
        return found
    return [replace(f, ordinal=numbered.get(f.fingerprint, {}).get(_line(f), f.ordinal)) for f in found]


def _line(finding: Finding) -> int:
    return (finding.location.line if finding.location else None) or 0


def merge_targets(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each fingerprint: the same cause seen on several targets lists them all."""
    merged: dict[str, Finding] = {}
    for finding in findings:
        seen = merged.get(finding.fingerprint)
        if seen is None:
            merged[finding.fingerprint] = finding
        else:
            targets = seen.targets + tuple(t for t in finding.targets if t not in seen.targets)
            merged[finding.fingerprint] = replace(seen, targets=targets)
    return list(merged.values())


MEASURED_MEANING = "SEM8"
"""Codes of what was measured of a step's meaning."""


def sort_key(finding: Finding) -> tuple[Any, ...]:
    """Most severe first, then by place: the order of every report. What a step optimises stands before what it costs: a
    wrong sum has other collectives than the right one."""
    place = finding.location or Location(path="")
    return (
        -SEVERITY_RANK[finding.severity],
        not finding.code.startswith(MEASURED_MEANING),
        place.path,
        place.cell or 0,
        place.line or 0,
        place.column or 0,
        finding.code,
        finding.subject,
    )
