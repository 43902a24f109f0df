"""The index of a project's records: one row a record in SQLite, for lists and curves.

The records are the truth; this is an index of them, made again from their files whenever it is missing or of another
version. Nothing in it is bound by digests.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.record import Metric, Record

VERSION = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS records (
    digest TEXT PRIMARY KEY, file TEXT NOT NULL, created TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    contract TEXT NOT NULL, sections TEXT NOT NULL, source TEXT, targets TEXT NOT NULL, verdict TEXT,
    findings TEXT NOT NULL, metrics TEXT NOT NULL, conclusion TEXT
)
"""
_COLUMNS = (
    *("digest", "file", "created", "name", "kind", "contract", "sections", "source", "targets", "verdict"),
    *("findings", "metrics", "conclusion"),
)


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


def row_of(record: Record, file: str, findings: Iterable[str]) -> Row:
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
        findings=tuple(findings),
        metrics=dict(record.metrics),
        conclusion=record.conclusion,
    )


class History:
    """An open index. Raises ContractLintError for a file that is none."""

    def __init__(self, path: Path | None) -> None:
        """`path` None: in memory."""
        self._place = Location(path.as_posix() if path is not None else ":memory:")
        if path is not None and path.is_symlink():
            help = "links are not followed: name what it points to with --db"
            raise ContractLintError("is a symbolic link", self._place, help)
        try:
            self._database = sqlite3.connect(path if path is not None else ":memory:", timeout=10)
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                help = "name another file with --db; it is made from the records"
                raise ContractLintError(f"is of version {version}; known here is {VERSION}", self._place, help)
            self._database.execute(_TABLE)
            self._database.execute(f"PRAGMA user_version = {VERSION}")
            self._database.commit()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def close(self) -> None:
        self._database.close()

    def known(self) -> set[str]:
        """The digests of all records in it."""
        return {digest for (digest,) in self._select("SELECT digest FROM records")}

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in; one that is there is replaced."""
        marks = ", ".join("?" * len(_COLUMNS))
        try:
            with self._database:
                self._database.executemany(f"INSERT OR REPLACE INTO records VALUES ({marks})", map(_values, rows))
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def keep(self, digests: Iterable[str]) -> None:
        """Drop the rows of all other records."""
        gone = self.known() - set(digests)
        try:
            with self._database:
                self._database.executemany("DELETE FROM records WHERE digest = ?", ((each,) for each in gone))
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def rows(self) -> list[Row]:
        """All rows, oldest first."""
        return [
            self._row(each)
            for each in self._select(f"SELECT {', '.join(_COLUMNS)} FROM records ORDER BY created, digest")
        ]

    def _select(self, query: str) -> list[tuple[str, ...]]:
        try:
            with closing(self._database.execute(query)) as found:
                return found.fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _row(self, values: tuple[str, ...]) -> Row:
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
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> ContractLintError:
        if isinstance(error, sqlite3.OperationalError):  # locked, not writable, no room: nothing is wrong with it
            help = "another command may be at work on it; --db names another file"
            return ContractLintError(f"cannot be used now ({error})", self._place, help)
        help = "remove it: it is made again from the records"
        return ContractLintError(f"is no history of records ({str(error).splitlines()[0][:120]})", self._place, help)


def _values(row: Row) -> tuple[str | None, ...]:
    metrics = {name: metric.model_dump(mode="json", exclude_none=True) for name, metric in row.metrics.items()}
    return (
        *(row.digest, row.file, row.created, row.name, row.kind, row.contract, json.dumps(row.sections), row.source),
        *(json.dumps(row.targets), row.verdict, json.dumps(row.findings), json.dumps(metrics), row.conclusion),
    )
