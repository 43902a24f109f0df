"""A baseline: findings that were there when checking began, so that only new ones count.

A file of JSON lines: the paths that were checked when it was written, then one line for each finding, sorted. An entry
is known by its fingerprint, in which no line number is: rule, path seen from the file's folder, the code at fault, and
the how-manieth of those that agree in all of these. The other keys are for people, and for the merge.
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
COVERS = "covers"
HERE = (".",)


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


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a file holds. `covers` are the paths that were checked when it was written, seen from the file's folder:
    what is found may hang on any file there, so only a run over all of them can say that something is found no more."""

    entries: tuple[Entry, ...] = ()
    covers: tuple[str, ...] = HERE

    def covering(self, paths: Iterable[str], there: Callable[[str], bool]) -> tuple[str, ...]:
        """The paths covered when a run over `paths` is added; those that are not `there` any more are dropped."""
        before = self.covers if self.entries else ()
        found = {os.path.normpath(each).replace(os.sep, "/") for each in (*before, *paths) if there(each)}
        return tuple(
            sorted(each for each in found if not any(each != other and is_below(each, other) for other in found))
        )

    def covered(self, paths: Iterable[str], there: Callable[[str], bool]) -> bool:
        """Whether a run over `paths` looks at all that is covered and still there."""
        wanted = list(paths)
        return all(any(is_below(each, path) for path in wanted) for each in self.covers if there(each))


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder, or in it; both seen from the same place."""
    path, folder = (os.path.normpath(each).replace(os.sep, "/") for each in (path, folder))
    if folder == ".":
        return path != ".." and not path.startswith(("../", "/"))
    if not folder.strip("./"):  # above: `..`, `../..`
        return path == folder or (not path.startswith(f"{folder}/..") and not path.startswith("/"))
    return f"{path}/".startswith(f"{folder}/")


def read_baseline(path: str, shown: str) -> Baseline:
    """The file.

    Raises ContractLintError, with its line, where the file cannot be read or a line is no entry.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ContractLintError(
            f"the baseline cannot be read: {reason}", Location(shown), "--update-baseline writes one"
        ) from error
    found: list[Entry] = []
    covers: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            read = _line(line, Location(shown, number))
            if isinstance(read, Entry):
                found.append(read)
            else:
                covers.update(read)
    return Baseline(tuple(found), tuple(sorted(covers)) or HERE)


def former(path: str, shown: str) -> Baseline:
    """A file that is about to be written anew; an empty one where none can be read."""
    try:
        return read_baseline(path, shown)
    except ContractLintError:
        return Baseline()


def _line(line: str, place: Location) -> Entry | list[str]:
    """An entry, or the paths that are covered."""
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    covers = data.get(COVERS) if isinstance(data, dict) else None
    if isinstance(covers, list) and all(isinstance(each, str) for each in covers):
        return covers
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
    """Sorted, with the lines that they then have: the first says what is covered."""
    found = sorted(listed, key=lambda entry: (entry.path, entry.code, entry.subject, entry.fingerprint))
    return [replace(entry, line=number) for number, entry in enumerate(found, 2)]


def write_baseline(path: str, shown: str, baseline: Baseline) -> None:
    """The file, replaced as a whole. Raises ContractLintError where it cannot be written."""
    lines = [entry.as_line() for entry in baseline.entries]
    lines = [json.dumps({COVERS: list(baseline.covers)}), *lines] if lines else []
    try:
        rewrite(path, "".join(line + "\n" for line in lines).encode())
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
