"""`contract-lint history`: what the records say, in order; an index that is made again; a page that loads nothing."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SECONDS = [0.1 * n for n in range(1, 101)]


@pytest.fixture
def project(cli: Run, tmp_path: Path, contract_text: str) -> Path:
    """Three records of two contracts; the last concludes from nothing."""
    (tmp_path / "c.contract.yaml").write_text(contract_text)
    (tmp_path / "d.contract.yaml").write_text(contract_text.replace("name: small", "name: '<b>&'"))
    for loss, contract in ((2.0, "c"), (1.5, "c")):
        rows = [{"step": n, "loss": loss, "seconds": each} for n, each in enumerate(SECONDS)]
        (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
        cli("record", "create", f"{contract}.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")
    cli("record", "create", "d.contract.yaml", "--conclusion", "<script>", "--fail-on", "never")
    return tmp_path


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"]


def test_all_records_are_listed_with_percentiles_and_the_rules_they_break(cli: Run, project: Path) -> None:
    found = rows(cli("history", "list", "--format", "json"))
    assert [each["name"] for each in found].count("small") == 2 and len(found) == 3
    (odd,) = (each for each in found if each["name"] != "small")
    assert {"EXP604", "EXP606", "EXP607", "EXP608"} == set(odd["findings"])
    (low,) = (each["metrics"]["seconds"] for each in found if each["metrics"].get("loss", {}).get("last") == 1.5)
    seen = [low[name] for name in ("mean", "p50", "p90", "p99")]
    assert seen == pytest.approx([5.05, 5.0, 9.0, 9.9])
    for columns in (60, 80, 120):
        for arguments in (("history",), ("history", "compare", *(str(each["digest"]) for each in found))):
            done = cli(*arguments, env={"COLUMNS": str(columns)})
            assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= columns, done.stdout
        said = cli("history", env={"COLUMNS": str(columns)}).stdout
        headings = next(line for line in said.splitlines() if line.startswith("record "))
        assert all(f" {name}" in headings for name in ("loss", "mean", "p50", "p99")), said
        assert "…" not in said, said
        hidden = {"made", "kind", "targets", "rules", "p90"} - set(headings.split())
        listed = " ".join(said.split("\n\n")[0].split()).partition("columns: ")[2].partition(" (")[0]
        assert set(listed.split(", ")) - {""} == hidden, said
    assert len(rows(cli("history", "list", "--name", "sma*", "--format", "json"))) == 2
    assert len(rows(cli("history", "list", "--last", "1", "--format", "json"))) == 1


def test_the_index_follows_the_files(cli: Run, project: Path) -> None:
    before = rows(cli("history", "list", "--format", "json"))
    records = project / ".contract-lint/records"
    index = project / ".contract-lint/history.sqlite"
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
    index.write_text("no database, and longer than a header of one would be")
    done = cli("history")
    assert done.returncode == 2 and ".contract-lint/history.sqlite: is no history of records" in done.stderr
    assert "name another file with --db; if it was the index, remove it" in done.stderr
    done = cli("history", "--db", "none/x.sqlite")
    assert done.returncode == 2 and "name a file that can be made with --db" in done.stderr
    (project / "later.sqlite").touch()
    with sqlite3.connect(project / "later.sqlite") as database:
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


def test_the_records_are_believed_and_not_the_index(cli: Run, project: Path) -> None:
    index = project / ".contract-lint/history.sqlite"
    before = rows(cli("history", "list", "--format", "json"))
    for query, value in EDITS:
        sql(index, query, value)
        assert rows(cli("history", "list", "--format", "json")) == before, query
        database = sqlite3.connect(index)
        assert database.execute("SELECT count(*) FROM records").fetchone() == (3,), query
        database.close()
    changed, linked, named = sorted((project / ".contract-lint/records").iterdir())
    changed.write_text(changed.read_text().replace("small", "large").replace("<b>", "<i>"))
    linked.rename(project / "elsewhere")
    linked.symlink_to(project / "elsewhere")
    named.rename(named.with_name(f"other.{named.name.split('.')[-3]}.record.json"))
    done = cli("history", "list", "--format", "json")
    assert [each["file"].split(".")[0] for each in rows(done)] == ["other"]
    assert f"{changed.name}: was changed after it was written" in done.stderr


def test_an_index_of_an_older_version_is_made_again_and_what_is_none_is_left_alone(cli: Run, project: Path) -> None:
    index = project / ".contract-lint/history.sqlite"
    before = rows(cli("history", "list", "--format", "json"))
    sql(index, "ALTER TABLE records DROP COLUMN seal")
    sql(index, "PRAGMA user_version = 1")
    assert rows(cli("history", "list", "--format", "json")) == before
    (project / "link.sqlite").symlink_to("target.sqlite")
    os.mkfifo(project / "pipe.sqlite")
    sql(project / "mine.sqlite", "CREATE TABLE records (title TEXT)")
    sql(project / "more.sqlite", "CREATE TABLE songs (title TEXT)")
    (project / "whole.sqlite").write_bytes(index.read_bytes())
    sql(project / "whole.sqlite", "CREATE TRIGGER t AFTER DELETE ON records BEGIN SELECT 1; END")
    (project / "torn.sqlite").write_bytes(index.read_bytes()[:4096] + bytes([1]) * 5000)
    refused = {
        "link": "is a symbolic link",
        "pipe": "is no file",
        "mine": "is a database of something else",
        "more": "is a database of something else",
        "whole": "is a database of something else",
        "torn": "is no history of records",
    }
    for name, said in refused.items():
        whole = (project / f"{name}.sqlite").read_bytes() if name not in ("link", "pipe") else b""
        done = cli("history", "--db", f"{name}.sqlite")
        assert done.returncode == 2 and f"{name}.sqlite: {said}" in " ".join(done.stderr.split()), done.stderr
        assert name in ("link", "pipe") or (project / f"{name}.sqlite").read_bytes() == whole
    assert not (project / "target.sqlite").exists()
    index.unlink()
    index.symlink_to(project / "target.sqlite")
    assert cli("history").returncode == 2 and not (project / "target.sqlite").exists()


def test_a_damaged_index_gives_one_sentence_and_nothing_behind_it(project: Path) -> None:
    # In a process of its own: what an open generator says when it dies comes after the sentence.
    command = [sys.executable, "-m", "contract_lint", "history"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    index = project / ".contract-lint/history.sqlite"
    index.write_bytes(index.read_bytes()[:4096] + bytes([1]) * 5000)
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 2 and "is no history of records" in done.stderr
    assert "Exception ignored" not in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_options_without_a_word_are_those_of_list(cli: Run, project: Path) -> None:
    assert rows(cli("history", "--name", "sma*", "--format", "json")) == rows(
        cli("history", "list", "--name", "sma*", "--format", "json")
    )
    assert len(rows(cli("history", "--last", "1", "--format", "json"))) == 1
    assert "compare" in cli("history", "--help").stdout and "--last" in cli("history", "list", "--help").stdout
    assert cli("history", "--no-such").returncode == 2 and cli("history", "no-such").returncode == 2


def test_a_rule_that_is_broken_twice_stands_once(cli: Run, project: Path) -> None:
    (project / "m.jsonl").write_text('{"a": NaN, "b": Infinity}')
    cli("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")
    newest = rows(cli("history", "--format", "json"))
    assert [sorted(each["findings"]) for each in newest if "a" in each["metrics"]] == [["EXP607", "EXP608", "EXP611"]]


def test_without_records(cli: Run) -> None:
    done = cli("history")
    assert (done.returncode, "no record yet" in done.stdout) == (0, True)
    assert "There is no record yet" in cli("history", "plot").stdout
    assert cli("history", "compare", "abcd", "abce").returncode == 2
    assert cli("history", "compare", "abcd").returncode == 2


def test_why_there_is_no_row_is_told(cli: Run, project: Path) -> None:
    assert "no record of that name: 3 records of other names" in cli("history", "--name", "zz*").stdout
    for path in (project / ".contract-lint/records").iterdir():
        path.write_text(path.read_text() + " ")
    assert "no record that can be read: 3 files cannot" in cli("history").stdout


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


def test_the_page_loads_nothing_and_escapes(cli: Run, project: Path) -> None:
    done = cli("history", "plot", "--output", "h.html")
    assert done.returncode == 0 and "h.html: 3 records" in done.stderr
    text = cli("history", "plot").stdout
    tags = Tags()
    tags.feed(text)
    assert not {"script", "link", "img", "b", "iframe"} & set(tags.found) and "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=", text) and "&lt;script&gt;" in text
    for name in ("mean", "p50", "p90", "p99"):
        assert f">{name}" in text and text.count(f"<title>{name} ") == 2
    assert "<h3>loss</h3>" in text and "<h3>loss</h3>" not in cli("history", "plot", "--metric", "sec*").stdout
