"""The index of `history`: it follows the records, which are believed; it is made again, or done without."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.record import history as history_module
from contract_lint.plugins.pipeline.record import index as index_module

from .conftest import Run, rows

OTHER = "no database, and longer than a header of one would be"


def test_the_index_follows_the_files(cli: Run, recorded: Path) -> None:
    before = rows(cli("history", "list", "--format", "json"))
    records = recorded / ".contract-lint/records"
    index = recorded / ".contract-lint/history.sqlite"
    assert sqlite3.connect(index).execute("SELECT count(*) FROM records").fetchone() == (3,)
    index.unlink()
    assert rows(cli("history", "list", "--format", "json")) == before
    first, second, third = sorted(records.iterdir())
    first.unlink()
    second.write_text(second.read_text() + " ")
    index.unlink()
    done = cli("history", "list", "--format", "json")
    assert [each["file"] for each in rows(done)] == [third.name]
    assert "not read: " in done.stderr and second.name in done.stderr
    (recorded / "mine.txt").write_text(OTHER)
    done = cli("history", "--db", "mine.txt")
    assert done.returncode == 2 and "mine.txt: is no history of records" in done.stderr
    assert "name another file with --db; if it was the index, remove it" in done.stderr
    assert (recorded / "mine.txt").read_text() == OTHER
    done = cli("history", "--db", "none/x.sqlite")
    assert done.returncode == 2 and "name a file that can be made with --db" in done.stderr
    (recorded / "later.sqlite").touch()
    with sqlite3.connect(recorded / "later.sqlite") as database:
        database.execute("PRAGMA user_version = 9")
    done = cli("history", "list", "--db", "later.sqlite")
    assert done.returncode == 2 and "is of version 9" in done.stderr


def sql(index: Path, query: str, *values: object) -> None:
    with sqlite3.connect(index) as database:
        database.execute(query, values)
    database.close()


EDITS = (
    ("UPDATE records SET metrics = ?", '{"loss": {"count": 1, "last": 0.001}}'),
    ("UPDATE records SET findings = ?", "[]"),
    ("UPDATE records SET conclusion = ?, verdict = 'pass'", "great"),
    ("UPDATE records SET name = ?", b"\xff"),
    ("UPDATE records SET name = CAST(? AS TEXT)", b"\xff"),
    ("UPDATE records SET seal = ?", "0" * 64),
    ("UPDATE records SET digest = digest || ?", "0"),
    ("DELETE FROM records WHERE name = ?", "small"),
    ("INSERT INTO records SELECT ?, file, created, name, kind, contract, sections, source, targets, verdict, findings, "
     "metrics, conclusion, seal FROM records LIMIT 1", "0" * 64),
)  # fmt: skip


def test_the_records_are_believed_and_not_the_index(cli: Run, recorded: Path) -> None:
    index = recorded / ".contract-lint/history.sqlite"
    before = rows(cli("history", "list", "--format", "json"))
    for query, value in EDITS:
        sql(index, query, value)
        assert rows(cli("history", "list", "--format", "json")) == before, query
        database = sqlite3.connect(index)
        assert database.execute("SELECT count(*) FROM records").fetchone() == (3,), query
        database.close()
    changed, linked, named = sorted((recorded / ".contract-lint/records").iterdir())
    changed.write_text(changed.read_text().replace("small", "large").replace("<b>", "<i>"))
    linked.rename(recorded / "elsewhere")
    linked.symlink_to(recorded / "elsewhere")
    named.rename(named.with_name(f"other.{named.name.split('.')[-3]}.record.json"))
    done = cli("history", "list", "--format", "json")
    assert [each["file"].split(".")[0] for each in rows(done)] == ["other"]
    assert f"{changed.name}: was changed after it was written" in done.stderr


def test_an_index_of_an_older_version_is_made_again_and_what_is_none_is_left_alone(cli: Run, recorded: Path) -> None:
    index = recorded / ".contract-lint/history.sqlite"
    before = rows(cli("history", "list", "--format", "json"))
    sql(index, "ALTER TABLE records DROP COLUMN seal")
    sql(index, "PRAGMA user_version = 1")
    assert rows(cli("history", "list", "--format", "json")) == before
    (recorded / "link.sqlite").symlink_to("target.sqlite")
    os.mkfifo(recorded / "pipe.sqlite")
    sql(recorded / "mine.sqlite", "CREATE TABLE records (title TEXT)")
    sql(recorded / "more.sqlite", "CREATE TABLE songs (title TEXT)")
    (recorded / "whole.sqlite").write_bytes(index.read_bytes())
    sql(recorded / "whole.sqlite", "CREATE TRIGGER t AFTER DELETE ON records BEGIN SELECT 1; END")
    refused = {
        "link": "is a symbolic link",
        "pipe": "is no file",
        "mine": "is a database of something else",
        "more": "is a database of something else",
        "whole": "is a database of something else",
    }
    for name, said in refused.items():
        whole = (recorded / f"{name}.sqlite").read_bytes() if name not in ("link", "pipe") else b""
        done = cli("history", "--db", f"{name}.sqlite")
        assert done.returncode == 2 and f"{name}.sqlite: {said}" in " ".join(done.stderr.split()), done.stderr
        assert name in ("link", "pipe") or (recorded / f"{name}.sqlite").read_bytes() == whole
    assert not (recorded / "target.sqlite").exists()
    index.unlink()
    index.symlink_to(recorded / "target.sqlite")
    assert cli("history").returncode == 2 and not (recorded / "target.sqlite").exists()


def torn(index: Path) -> bytes:
    """An index whose first page tells that it is one."""
    return index.read_bytes()[:4096] + bytes([1]) * 5000


@pytest.mark.parametrize("damage", ["torn", "text", "noise", "name"])
def test_a_damaged_index_is_made_again(recorded: Path, damage: str) -> None:
    # In a process of its own: what an open generator says when it dies comes after the sentence.
    command = [sys.executable, "-m", "contract_lint", "history", "--format", "json"]
    index = recorded / ".contract-lint/history.sqlite"
    before = subprocess.run(command, cwd=recorded, check=True, capture_output=True).stdout
    damaged = {
        "torn": torn(index),
        "text": OTHER.encode(),
        "noise": bytes(range(256)) * 40,
        "name": index.read_bytes().replace(b"tablerecords", b"tablerec\xffrds"),  # no text, in the list of tables
    }
    index.write_bytes(damaged[damage])
    journal = index.with_name("history.sqlite-journal")
    journal.write_text("of the damaged one")
    done = subprocess.run(command, cwd=recorded, capture_output=True, text=True)
    assert (done.returncode, done.stdout.encode()) == (0, before)
    note = "contract-lint: .contract-lint/history.sqlite was damaged, and is made again from the records"
    assert " ".join(done.stderr.split()) == note and not journal.exists()
    again = subprocess.run(command, cwd=recorded, check=True, capture_output=True)
    assert (again.stdout, again.stderr) == (before, b"")


def test_a_named_file_is_made_again_where_it_was_an_index(cli: Run, recorded: Path) -> None:
    named = recorded / "named.sqlite"
    before = rows(cli("history", "--db", "named.sqlite", "--format", "json"))
    named.write_bytes(torn(named))
    done = cli("history", "--db", "named.sqlite", "--format", "json")
    assert rows(done) == before and "named.sqlite was damaged, and is made again" in done.stderr


def test_an_index_that_somebody_writes_is_done_without(
    cli: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "TIMEOUT", 0.05)
    index = recorded / ".contract-lint/history.sqlite"
    before = rows(cli("history", "--format", "json"))
    holder = sqlite3.connect(index, isolation_level=None)
    for begin in ("BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"):  # nothing can be read; nothing can be written
        sql(index, "DELETE FROM records")
        holder.execute(begin)
        done = cli("history", "--format", "json")
        assert rows(done) == before and done.stderr.count("\n") == 1, done.stderr
        assert "is in use by another command" in done.stderr and "are read without it" in done.stderr
        named = cli("history", "--db", str(index))
        assert named.returncode == 2 and "try again when that has ended" in named.stderr
        holder.execute("ROLLBACK")
    holder.close()
    assert cli("history").stderr == ""


def test_without_room_there_is_no_index_and_nothing_is_left_of_it(recorded: Path) -> None:
    command = [sys.executable, "-m", "contract_lint", "history", "--format", "json"]
    before = {path.name for path in (recorded / ".contract-lint").iterdir()} - {"history.sqlite"}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        return subprocess.run([*command, *more], cwd=recorded, capture_output=True, text=True, preexec_fn=limit)

    (recorded / ".contract-lint/history.sqlite").unlink(missing_ok=True)
    done = run()
    assert len(rows(done)) == 3 and "the records are read without it" in " ".join(done.stderr.split()), done.stderr
    assert done.stderr.count("contract-lint: ") == 1 and "--db" not in done.stderr
    assert {path.name for path in (recorded / ".contract-lint").iterdir()} == before
    done = run("--db", "named.sqlite")
    assert done.returncode == 2 and "make room there" in done.stderr, done.stderr
    assert not list(recorded.glob("named*"))


def test_an_index_of_a_later_version_or_of_others_is_left_and_done_without(cli: Run, recorded: Path) -> None:
    index = recorded / ".contract-lint/history.sqlite"
    before = rows(cli("history", "--format", "json"))
    sql(index, "PRAGMA user_version = 9")
    whole = index.read_bytes()
    done = cli("history", "--format", "json")
    assert rows(done) == before and "is of version 9; known here is 2; the records are read" in done.stderr
    assert index.read_bytes() == whole
    index.unlink()
    sql(index, "CREATE TABLE songs (title TEXT)")
    whole = index.read_bytes()
    done = cli("history", "--format", "json")
    assert rows(done) == before and "is a database of something else; the records are read" in done.stderr
    assert index.read_bytes() == whole


def test_how_many_records_are_read_is_told_where_there_are_many(
    cli: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("history").stderr == ""
    monkeypatch.setattr(history_module, "TOLD", 2)
    assert cli("history").stderr == ""
    (recorded / ".contract-lint/history.sqlite").unlink()
    lines = cli("history").stderr.splitlines()
    assert lines == [f"contract-lint: reading record {n} of 3 that the index does not have" for n in (1, 3)]
