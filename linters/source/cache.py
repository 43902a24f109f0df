"""What was found last time: a summary and the findings of each file, by the digest of its content.

One file of lines for each project: a stamp, then for each file a checksum and tab-separated JSON. Lines are parsed when
they are asked for, and those that have not changed are written back as they are. Whatever is wrong with it, it is as if
there were none: another version's stamp, a line that does not add up, a folder that cannot be written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ...contracts.finding import Edit, Finding, Fix, Location

FOLDER = ".contract-lint"
NAME = "source.cache"
FORMAT = "contract-lint source cache 1"
MOST_ENTRIES = 50_000
WHOLE = "*"
"""The entry that is of no file: it says for which program all findings hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one file: `digest` of its content, its `summary` as JSON, and its `findings` as JSON, which hold
    while what they use of other files has the digest `outside`."""

    digest: str
    summary: str
    outside: str = ""
    findings: str = ""


class Cache:
    """The entries of one project, by the absolute path of the file."""

    def __init__(self, path: str | None, stamp: str) -> None:
        self._path, self._head = path, f"{FORMAT} {stamp}"
        self._lines: dict[str, str] = {} if path is None else _read(path, self._head)
        self._changed = False

    def get(self, file: str, digest: str) -> Entry | None:
        """What is known of a file with this content."""
        line = self._lines.get(file)
        if line is None:
            return None
        checksum, _, rest = line.partition("\t")
        parts = rest.split("\t")
        if len(parts) != 5 or parts[1] != digest or checksum != _checksum(rest):
            return None
        return Entry(digest, parts[2], parts[3], parts[4])

    def put(self, file: str, entry: Entry) -> None:
        """Keeps what is now known of a file."""
        rest = "\t".join((json.dumps(file), entry.digest, entry.summary, entry.outside, entry.findings))
        line = f"{_checksum(rest)}\t{rest}"
        if self._lines.get(file) != line:
            self._lines[file] = line
            self._changed = True

    def save(self) -> None:
        """Writes the file if anything changed, in one step; files that are gone are forgotten. Never fails."""
        if self._path is None or not self._changed:
            return
        kept = [line for file, line in self._lines.items() if file == WHOLE or os.path.exists(file)]
        part = f"{self._path}.{os.getpid()}.part"
        try:
            _make_folder(os.path.dirname(self._path))
            with open(part, "w", encoding="utf-8", newline="\n") as file:
                file.write("\n".join([self._head, *kept[-MOST_ENTRIES:], ""]))
            os.replace(part, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(part)
            return
        self._changed = False


def cache_file(root: str) -> str:
    """Where the cache of the project in the folder `root` is."""
    return os.path.join(root, FOLDER, NAME)


def stamp(*parts: str) -> str:
    """The name of what all entries depend on: this program's own files, as they are now, and `parts`."""
    from ... import __version__

    folder = os.path.dirname(os.path.abspath(__file__))
    seen = blake2b("\0".join((__version__, *parts)).encode("utf-8", "surrogatepass"), digest_size=12)
    for place in sorted(_folders(folder)):
        with os.scandir(place) as entries:
            for name, about in sorted((e.name, e.stat()) for e in entries if e.name.endswith(".py")):
                seen.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def _folders(top: str) -> Iterable[str]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(folder) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir() and entry.name != "__pycache__"]


def _read(path: str, head: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError):
        return {}
    if not lines or lines[0] != head:
        return {}
    found = {}
    for line in lines[1:]:
        parts = line.split("\t", 2)
        with suppress(ValueError, RecursionError, IndexError):
            file = json.loads(parts[1])
            if isinstance(file, str):
                found[file] = line
    return found


def _checksum(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _make_folder(folder: str) -> None:
    """The folder, which git is told to ignore where it is new."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder)
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")


def dump_findings(findings: Iterable[Finding]) -> str:
    """Findings as one line of JSON that `load_findings` reads back."""
    return json.dumps([_packed(finding) for finding in findings], separators=(",", ":"))


def load_findings(text: str, path: str) -> list[Finding] | None:
    """The findings that `dump_findings` wrote, on the file that is now shown as `path`; None for any other text."""
    try:
        return [_unpacked(each, path) for each in json.loads(text)]
    except (ValueError, TypeError, LookupError, RecursionError):
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
    "evidence",
)


def _packed(finding: Finding) -> dict[str, Any]:
    packed = {name: value for name in _PLAIN if (value := getattr(finding, name)) not in (None, ())}
    if finding.location is not None:
        packed["at"] = _place(finding.location)
    if finding.fix is not None:
        packed["fix"] = [
            finding.fix.description,
            finding.fix.safe,
            [[*_place(edit.location), edit.text] for edit in finding.fix.edits],
            finding.fix.needs,
            finding.fix.leaves,
        ]
    if finding.details:
        packed["details"] = dict(finding.details)
    return packed


def _place(place: Location) -> list[int | None]:
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
