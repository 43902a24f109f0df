"""`history`: the records of a project as rows, brought up to date with the files that are there."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from .diff import FIGURES, alike, said, steps_of, told
from .index import History, Row, Unusable, row_of
from .measured import measured
from .place import RECORDS, find, listed, no_files, project_here, read_record, record_data, shown_path

DATABASE = "history.sqlite"
TOLD = 1_000
"""Records between two words on how many are read."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows, oldest first, and the files that hold no record, each with its reason."""

    rows: tuple[Row, ...]
    unread: tuple[str, ...] = ()
    others: int = 0
    """Records whose name does not match."""
    notes: tuple[str, ...] = ()
    """What there is to say of the index."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Several records side by side: what differs in their configuration, and their figures."""

    records: tuple[Record, ...]
    config: tuple[tuple[str, tuple[Any, ...]], ...]
    figures: tuple[tuple[str, tuple[float | None, ...]], ...]

    @property
    def steps(self) -> tuple[str | None, ...]:
        """Those that each run went over."""
        return tuple(map(steps_of, self.records))

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "records": [record.digest for record in self.records],
            "steps": list(self.steps),
            "config": [{"key": key, "values": list(values)} for key, values in self.config],
            "metrics": [{"name": name, "values": list(values)} for name, values in self.figures],
        }


def history(
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    database: str | None = None,
    name: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Listed:
    """All records of the project in this folder; `name`: those whose name matches the pattern.

    `database`: the index, None: beside the records, or in memory where that cannot be used. `say` is told how many
    records are read, where there are many. Raises ContractLintError for an index that is none, and for one that was
    named and cannot be used.
    """
    root = project_here(cache_dir)
    files = {digest: path for path in listed(root, cache_dir) if (digest := digest_in(path.name))}
    index, rows, notes = _opened(root, database, cache_dir)
    with closing(index):
        known = {row.digest: row for row in rows}
        unknown = [digest for digest, path in files.items() if not _is_of(path, known.get(digest))]
        numbers = {digest: number for number, digest in enumerate(unknown, 1)}
        found: list[Row] = []
        unread: list[str] = []
        for digest, path in files.items():
            if numbers.get(digest, 0) % TOLD == 1 and len(unknown) >= TOLD:
                say(f"reading record {numbers[digest]:,} of {len(unknown):,} that the index does not have")
            try:
                found.append(_row(path, digest, known.get(digest)))
            except ContractLintError as error:
                unread.append(str(error).splitlines()[0])
        unread += _refused(no_files(root, cache_dir))
        there = {row.digest for row in found}
        new = [row for row in found if known.get(row.digest) is not row]
        try:
            gone = [digest for digest in index.digests() if digest not in there]
            if gone or new:
                index.replace(gone, new)
        except Unusable as error:
            if database is not None:
                raise
            notes.append(_unkept(error))
        if index.remade:
            notes.append(f"{shown_path(index.path or Path())} was damaged, and is made again from the records")
    rows = [row for row in found if name is None or fnmatch.fnmatchcase(row.name, name)]
    rows.sort(key=lambda row: row.created)  # of one second in the order they were written, as `latest` has it
    return Listed(tuple(rows), tuple(unread), len(found) - len(rows), tuple(notes))


def _refused(paths: Iterable[Path]) -> Iterator[str]:
    """Why nothing is read where something else than a file is named as a record."""
    for path in paths:
        try:
            record_data(path)
        except ContractLintError as error:
            yield str(error).splitlines()[0]


def _is_of(path: Path, row: Row | None) -> bool:
    return row is not None and row.file == path.name


def _row(path: Path, digest: str, known: Row | None) -> Row:
    """The row of a record: the one that is known, where the file is what its name says. Raises ContractLintError."""
    data = record_data(path)
    if known is not None and _is_of(path, known):
        return known
    shown = shown_path(path)
    record = parse_record(data, shown)
    return row_of(record, path.name, judge_record(RecordEvidence(shown, digest, digest, record)))


def compare(named: Sequence[str], cache_dir: str | os.PathLike[str] | None = None) -> Compared:
    """These records beside each other. Raises ContractLintError for one that cannot be read."""
    records = tuple(read_record(find(each, cache_dir)) for each in named)
    configs = said(*(record.config for record in records))
    keys = [key for key in dict.fromkeys(key for each in configs for key in each)]
    differing = [(key, tuple(each.get(key) for each in configs)) for key in keys]
    figures = [dict(pair for name, m in measured(each.metrics).items() for pair in told(name, m)) for each in records]
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


def _opened(
    root: Path, database: str | None, cache_dir: str | os.PathLike[str] | None
) -> tuple[History, list[Row], list[str]]:
    """The index, its rows, and what there is to say of it."""
    notes: list[str] = []
    path = Path(database) if database is not None else _beside(root, cache_dir)
    try:
        index = History(path, ours=database is None)
        try:
            return index, index.rows(), notes
        except ContractLintError:
            index.close()
            raise
    except Unusable as error:
        if database is not None:
            raise
        notes.append(_unkept(error))
    return History(None), [], notes


def _beside(root: Path, cache_dir: str | os.PathLike[str] | None) -> Path | None:
    """The index beside the records, where there are any: in a folder that takes it, else where it may be read."""
    places = cache_places(root, Path(cache_dir).absolute() if cache_dir else None).readable
    places = [place for place in places if (place / RECORDS).is_dir()]
    taking = next((place for place in places if os.access(place, os.W_OK)), None)
    return next((place / DATABASE for place in (taking, *places) if place is not None), None)


def _unkept(error: Unusable) -> str:
    """An index is a help: the records say the same without it."""
    return f"{str(error).splitlines()[0]}; the records are read without it"
