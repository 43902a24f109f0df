"""`history`: the records of a project as rows, brought up to date with the files that are there."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.record import Metric, Record, digest_in
from ....contracts.record_file import parse_record
from ....linters.record.evidence import RecordEvidence
from ....linters.record.judge import judge_record
from ....runtime.cache_places import cache_places
from .diff import FIGURES, alike, said, told
from .index import History, Row, row_of
from .place import RECORDS, find, listed, read_record, record_data, shown_path

DATABASE = "history.sqlite"


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows, oldest first, and the files that hold no record, each with its reason."""

    rows: tuple[Row, ...]
    unread: tuple[str, ...] = ()
    others: int = 0
    """Records whose name does not match."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Several records side by side: what differs in their configuration, and their figures."""

    records: tuple[Record, ...]
    config: tuple[tuple[str, tuple[Any, ...]], ...]
    figures: tuple[tuple[str, tuple[float | None, ...]], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "records": [record.digest for record in self.records],
            "config": [{"key": key, "values": list(values)} for key, values in self.config],
            "metrics": [{"name": name, "values": list(values)} for name, values in self.figures],
        }


def history(
    *, cache_dir: str | os.PathLike[str] | None = None, database: str | None = None, name: str | None = None
) -> Listed:
    """All records of the project in this folder; `name`: those whose name matches the pattern.

    `database`: the index, None: beside the records, or in memory where that takes nothing. Raises ContractLintError for
    an index that is none.
    """
    files = {digest: path for path in listed(Path.cwd().resolve(), cache_dir) if (digest := digest_in(path.name))}
    with closing(_opened(database, cache_dir)) as index:
        known, unread = {row.digest: row for row in index.rows()}, []
        found: list[Row] = []
        for digest, path in files.items():
            try:
                found.append(_row(path, digest, known.get(digest)))
            except ContractLintError as error:
                unread.append(str(error).splitlines()[0])
        there = {row.digest for row in found}
        gone = [digest for digest in index.digests() if digest not in there]
        new = [row for row in found if known.get(row.digest) is not row]
        if gone or new:
            index.replace(gone, new)
    rows = [row for row in found if name is None or fnmatch.fnmatchcase(row.name, name)]
    rows.sort(key=lambda row: (row.created, row.digest))
    return Listed(tuple(rows), tuple(unread), len(found) - len(rows))


def _row(path: Path, digest: str, known: Row | None) -> Row:
    """The row of a record: the one that is known, where the file is what its name says. Raises ContractLintError."""
    data = record_data(path)
    if known is not None and known.file == path.name:
        return known
    shown = shown_path(path)
    record = parse_record(data, shown)
    return row_of(record, path.name, judge_record(RecordEvidence(shown, digest, digest, record)))


def compare(named: Sequence[str], cache_dir: str | os.PathLike[str] | None = None) -> Compared:
    """These records beside each other. Raises ContractLintError for one that cannot be read."""
    records = tuple(read_record(find(each, cache_dir)) for each in named)
    configs = [said(record.config) for record in records]
    keys = [key for key in dict.fromkeys(key for each in configs for key in each)]
    differing = [(key, tuple(each.get(key) for each in configs)) for key in keys]
    figures = [dict(pair for name, metric in each.metrics.items() for pair in told(name, metric)) for each in records]
    names = sorted({name for each in figures for name in each}, key=_order)
    return Compared(
        records,
        tuple((key, values) for key, values in differing if not all(alike(value, values[0]) for value in values)),
        tuple((name, tuple(each.get(name) for each in figures)) for name in names),
    )


def _order(name: str) -> tuple[str, int]:
    """Metrics by name, their figures in the order they are told in."""
    metric, _, figure = name.rpartition(" ")
    return (metric, FIGURES.index(figure)) if figure in FIGURES else (name, 0)


def first_metric(row: Row, beginnings: Sequence[str]) -> Metric | None:
    """The first metric of a record whose name begins with one of these words."""
    return next((m for begin in beginnings for name, m in row.metrics.items() if name.startswith(begin)), None)


def _opened(database: str | None, cache_dir: str | os.PathLike[str] | None) -> History:
    if database is not None:
        return History(Path(database))
    for place in cache_places(Path.cwd().resolve(), Path(cache_dir).absolute() if cache_dir else None).readable:
        if (place / RECORDS).is_dir() and os.access(place, os.W_OK):
            return History(place / DATABASE)
    return History(None)
