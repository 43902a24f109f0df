"""A baseline: findings that were there when checking began, so that only new ones count.

A file of JSON lines, sorted, one for each finding. An entry is known by its fingerprint, in which no line number is:
rule, path seen from the file's folder, the code at fault, and the how-manieth of those that agree in all of these. The
other keys are for people, and for the merge.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding, Location
from ...contracts.problems import STALE_BASELINE
from ..rewrite import rewrite

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a baseline; `line` is where it stands."""

    fingerprint: str
    code: str
    path: str
    subject: str
    line: int

    def as_line(self) -> str:
        return json.dumps(
            {"path": self.path, "code": self.code, "subject": self.subject, "fingerprint": self.fingerprint}
        )


def read_baseline(path: str, shown: str) -> list[Entry]:
    """The entries of a file.

    Raises ContractLintError, with its line, where the file cannot be read or a line is no entry.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ContractLintError(
            f"the baseline cannot be read: {reason}", Location(shown), "--update-baseline writes one"
        ) from error
    return [_entry(line, Location(shown, number)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def former(path: str, shown: str) -> list[Entry]:
    """The entries of a file that is about to be written anew; none where none can be read."""
    try:
        return read_baseline(path, shown)
    except ContractLintError:
        return []


def _entry(line: str, place: Location) -> Entry:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    keys = ("fingerprint", "code", "path", "subject")
    if not isinstance(data, dict) or not all(isinstance(data.get(key), str) for key in keys):
        raise ContractLintError(
            "is no line of a baseline", place, "a conflict of a merge, perhaps; --update-baseline writes the file anew"
        )
    return Entry(data["fingerprint"], data["code"], data["path"], data["subject"], place.line or 0)


def entries(findings: Iterable[Finding], folder: str) -> list[Entry]:
    """An entry for each new finding, in the order of the file, numbered."""
    return _in_order(_as_entry(finding, folder) for finding in findings if finding.status in ("new", "baseline"))


def merged(found: Iterable[Entry], before: Iterable[Entry], judged: Callable[[Entry], bool]) -> list[Entry]:
    """What a baseline holds after it is updated: what was found, and what was there of which nothing is known now."""
    found = list(found)
    left = Counter(entry.fingerprint for entry in found)
    kept = []
    for entry in before:
        if left[entry.fingerprint]:
            left[entry.fingerprint] -= 1
        elif not judged(entry):
            kept.append(entry)
    return _in_order([*found, *kept])


def summary(shown: str, after: Sequence[Entry], found: Sequence[Entry], before: Sequence[Entry]) -> str:
    """`lint-baseline.jsonl: 43 entries: 2 added, 1 dropped, 29 kept that this run could not judge`."""
    was, now = (Counter(entry.fingerprint for entry in each) for each in (before, after))
    kept = len(after) - len(found)
    apart = f", {kept:,} kept that this run could not judge" if kept else ""
    count = f"{len(after):,} {'entry' if len(after) == 1 else 'entries'}"
    return f"{shown}: {count}: {(now - was).total():,} added, {(was - now).total():,} dropped{apart}"


def _in_order(listed: Iterable[Entry]) -> list[Entry]:
    found = sorted(listed, key=lambda entry: (entry.path, entry.code, entry.subject, entry.fingerprint))
    return [replace(entry, line=number) for number, entry in enumerate(found, 1)]


def write_baseline(path: str, shown: str, listed: Sequence[Entry]) -> None:
    """The file, replaced as a whole. Raises ContractLintError where it cannot be written."""
    try:
        rewrite(path, "".join(entry.as_line() + "\n" for entry in listed).encode())
    except OSError as error:
        raise ContractLintError(
            f"the baseline cannot be written: {error.strerror or error}", Location(shown)
        ) from error


def apply_baseline(
    findings: Sequence[Finding], listed: Sequence[Entry], folder: str, shown: str, judged: Callable[[Entry], bool]
) -> list[Finding]:
    """The findings, those in the baseline marked so, and a finding for each entry that none is like any more.

    `folder` is the baseline's, `shown` its path in findings. `judged` says of an entry whether what it is about was
    looked at in this run: of others nothing is known.
    """
    waiting: dict[str, list[Entry]] = {}
    for entry in listed:
        waiting.setdefault(entry.fingerprint, []).append(entry)
    marked = []
    for finding in findings:
        here = waiting.get(_as_entry(finding, folder).fingerprint) if finding.status == "new" else None
        if here:
            here.pop()
            marked.append(replace(finding, status="baseline"))
        else:
            marked.append(finding)
    stale = [entry for each in waiting.values() for entry in each if judged(entry)]
    return marked + [_stale(entry, shown) for entry in sorted(stale, key=lambda entry: entry.line)]


def _stale(entry: Entry, shown: str) -> Finding:
    return STALE_BASELINE.at(
        Location(shown, entry.line),
        f"{entry.code} is no longer found in {entry.path}: {entry.subject}",
        subject=entry.fingerprint,
        help="--update-baseline removes the entry",
    )


def _as_entry(finding: Finding, folder: str) -> Entry:
    place = finding.location
    path = "" if place is None or not place.path else seen_from(folder, place.path)
    standing = finding if place is None else replace(finding, location=replace(place, path=path))
    return Entry(standing.fingerprint, finding.code, path, _short(finding.subject), 0)


def seen_from(folder: str, path: str) -> str:
    """`path`, relative to the working folder, relative to `folder`; as it is where no way leads there."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return path


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST]
