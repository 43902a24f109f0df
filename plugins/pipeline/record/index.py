"""The index of a project's records: one row a record in SQLite, for lists and curves.

The records are the truth; this is an index of them, made again from their files whenever it is missing, damaged or of
an older version, and done without where it cannot be used. Each row has a seal, the sha256 of all it says and of the
version that wrote it: a row that was changed since, or that the rules of another version judged, is none.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .... import __version__
from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding, Location
from ....contracts.record import Metric, Record, canonical, sha256
from .place import shown_path

VERSION = 2
TIMEOUT = 10.0
"""Seconds to wait for another command that writes the index."""
_PAGE = 4096
_TABLE = """
CREATE TABLE records (
    digest TEXT PRIMARY KEY, file TEXT NOT NULL, created TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    contract TEXT NOT NULL, sections TEXT NOT NULL, source TEXT, targets TEXT NOT NULL, verdict TEXT,
    findings TEXT NOT NULL, metrics TEXT NOT NULL, conclusion TEXT, seal TEXT NOT NULL
)
"""
_COLUMNS = (
    *("digest", "file", "created", "name", "kind", "contract", "sections", "source", "targets", "verdict"),
    *("findings", "metrics", "conclusion"),
)
_OTHER = "name another file with --db"
_UNUSABLE = {
    sqlite3.SQLITE_CANTOPEN: ("cannot be made or opened", "name a file that can be made with --db"),
    sqlite3.SQLITE_READONLY: ("cannot be written to", _OTHER),
    sqlite3.SQLITE_PERM: ("cannot be written to", _OTHER),
    sqlite3.SQLITE_FULL: ("there is no room for it", f"make room there, or {_OTHER}"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", f"make room there, or {_OTHER}"),
    sqlite3.SQLITE_BUSY: ("is in use by another command", f"try again when that has ended, or {_OTHER}"),
    sqlite3.SQLITE_LOCKED: ("is in use by another command", f"try again when that has ended, or {_OTHER}"),
    sqlite3.SQLITE_NOMEM: ("cannot be held in memory", _OTHER),
}
"""What SQLite says where nothing is wrong with the file, in words, and the next step."""
_BROKEN = (sqlite3.Error, ValueError)
"""What comes of a database: a name in a damaged one may be no text."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record. `verdict`: pass, fail, incomplete, or None where nothing was checked; `findings`: codes of the rules
    on records; `source`: the commit, with `+` where more than that was run."""

    digest: str
    file: str
    created: str
    name: str
    kind: str
    contract: str
    sections: dict[str, str]
    source: str | None
    targets: tuple[str, ...]
    verdict: str | None
    findings: tuple[str, ...]
    metrics: dict[str, Metric]
    conclusion: str | None


def is_index(path: Path) -> bool:
    """Whether a file is an index of records, by its beginning: SQLite keeps there what its tables are."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(_PAGE)
    except OSError:
        return False
    return start.startswith(b"SQLite format 3\0") and _TABLE.strip().encode() in start


def row_of(record: Record, file: str, findings: Iterable[Finding]) -> Row:
    """The row of a record that lies in `file`."""
    source = record.source
    verdicts = [each.verdict for each in record.verdicts]
    return Row(
        digest=record.digest,
        file=file,
        created=record.created,
        name=record.name,
        kind=record.kind,
        contract=record.contract.digest,
        sections=dict(record.contract.sections),
        source=f"{source.commit[:40]}{'+' if source.dirty else ''}" if source.commit is not None else None,
        targets=tuple(dict.fromkeys(each.target for each in record.devices)),
        verdict=next((each for each in ("fail", "incomplete", "pass") if each in verdicts), None),
        findings=tuple(dict.fromkeys(each.code for each in findings)),
        metrics=dict(record.metrics),
        conclusion=record.conclusion,
    )


class Unusable(ContractLintError):
    """A file that stays as it is and cannot be used: no room, not writable, in use, of a later version, of others."""


class Damaged(ContractLintError):
    """A file that SQLite does not read as an index."""


class History:
    """An open index. `remade`: it was damaged, and is begun anew.

    Raises Unusable and Damaged, and ContractLintError for a link: it may lead anywhere.
    """

    def __init__(self, path: Path | None, ours: bool = False) -> None:
        """`path` None: in memory. `ours`: nothing but an index has a place there, so what is none is removed."""
        self.path, self.remade = path, False
        self._place = Location(shown_path(path) if path is not None else ":memory:")
        if path is not None and path.is_symlink():
            help = "links are not followed: name what it points to with --db"
            raise ContractLintError("is a symbolic link", self._place, help)
        if path is not None and path.exists() and not path.is_file():
            raise ContractLintError("is no file", self._place, "name a file with --db")
        try:
            self._open()
        except Damaged:
            if not ours:
                raise
            self._begin_anew()

    def close(self) -> None:
        self._database.close()

    def rows(self) -> list[Row]:
        """The rows that are as they were written, in no order."""
        wanted = f"SELECT {', '.join(_COLUMNS)}, seal FROM records"
        try:
            return [self._row(values) for *values, seal in self._all(wanted) if _seal(values) == seal]
        except Damaged:
            self._begin_anew()
            return []

    def replace(self, gone: Iterable[str], rows: Sequence[Row]) -> None:
        """Drop the rows with these digests, then take rows in; one that is there is replaced."""
        try:
            self._replace(gone, rows)
        except Damaged:
            self._begin_anew()
            self._replace((), rows)

    def digests(self) -> set[Any]:
        """The digests of all rows, of those that are none too."""
        try:
            return {digest for (digest,) in self._all("SELECT digest FROM records")}
        except Damaged:
            self._begin_anew()
            return set()

    def _replace(self, gone: Iterable[str], rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * (len(_COLUMNS) + 1))
        try:
            with self._database:
                self._database.executemany("DELETE FROM records WHERE digest = ?", ((each,) for each in gone))
                self._database.executemany(f"INSERT OR REPLACE INTO records VALUES ({marks})", map(_sealed, rows))
        except _BROKEN as error:
            raise self._failure(error) from error

    def _open(self) -> None:
        found = self.path is None or self.path.exists()
        try:
            self._connect()
        except ContractLintError:
            if self.path is not None and not found:
                with contextlib.suppress(OSError):
                    if not self.path.stat().st_size:  # all that was made of it
                        self.path.unlink()
            raise

    def _connect(self) -> None:
        try:
            self._database = sqlite3.connect(self.path if self.path is not None else ":memory:", timeout=TIMEOUT)
        except _BROKEN as error:
            raise self._failure(error) from error
        try:
            self._prepare()
        except _BROKEN as error:
            self.close()
            raise self._failure(error) from error
        except ContractLintError:
            self.close()
            raise

    def _begin_anew(self) -> None:
        """Without what is there, and without the journals of it, which would be played back into a new file."""
        assert self.path is not None
        self.close()
        try:
            for suffix in ("", "-journal", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            said = f"is damaged, and cannot be removed ({error.strerror or error})"
            raise Unusable(said, self._place, "name another file with --db") from error
        self._open()
        self.remade = True

    def _prepare(self) -> None:
        """The table, in a file that holds nothing else: what somebody else keeps in it is left alone."""
        self._database.text_factory = lambda data: data.decode("utf-8", "replace")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            help = "name another file with --db; it is made from the records"
            raise Unusable(f"is of version {version}; known here is {VERSION}", self._place, help)
        named = self._database.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        columns = {name for _, name, *_ in self._database.execute("PRAGMA table_info(records)").fetchall()}
        if named and (named != [("table", "records")] or columns - {"seal"} != set(_COLUMNS)):
            raise Unusable(
                "is a database of something else", self._place, "name another file with --db; it is left as it is"
            )
        if named and version == VERSION and "seal" in columns:
            return
        self._database.execute("DROP TABLE IF EXISTS records")
        self._database.execute(_TABLE)
        self._database.execute(f"PRAGMA user_version = {VERSION}")
        self._database.commit()

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        try:
            with closing(self._database.execute(query)) as found:
                return found.fetchall()
        except _BROKEN as error:
            raise self._failure(error) from error

    def _row(self, values: Sequence[str]) -> Row:
        found = dict(zip(_COLUMNS, values, strict=True))
        try:
            return Row(
                **{
                    **found,
                    "sections": dict(json.loads(found["sections"])),
                    "targets": tuple(json.loads(found["targets"])),
                    "findings": tuple(json.loads(found["findings"])),
                    "metrics": {
                        name: Metric.model_validate(each) for name, each in json.loads(found["metrics"]).items()
                    },
                }
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> ContractLintError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # above are refinements
        said, help = _UNUSABLE.get(code, ("", ""))
        if said:
            return Unusable(f"{said} ({error})", self._place, help)
        help = "name another file with --db; if it was the index, remove it: it is made again from the records"
        return Damaged(f"is no history of records ({' '.join(str(error).split())[:120]})", self._place, help)


def _values(row: Row) -> tuple[str | None, ...]:
    metrics = {name: metric.model_dump(mode="json", exclude_none=True) for name, metric in row.metrics.items()}
    return (
        *(row.digest, row.file, row.created, row.name, row.kind, row.contract, json.dumps(row.sections), row.source),
        *(json.dumps(row.targets), row.verdict, json.dumps(row.findings), json.dumps(metrics), row.conclusion),
    )


def _sealed(row: Row) -> tuple[str | None, ...]:
    values = _values(row)
    return (*values, _seal(values))


def _seal(values: Sequence[Any]) -> str | None:
    """The sha256 of a row; None for what no row holds."""
    return sha256(canonical([__version__, *values])) if all(isinstance(e, str | None) for e in values) else None
