"""`contract-lint history`: what the records say, in order; an index that is made again; a page that loads nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .conftest import Run, rows


def test_all_records_are_listed_with_percentiles_and_the_rules_they_break(cli: Run, recorded: Path) -> None:
    found = rows(cli("history", "list", "--format", "json"))
    assert [each["name"] for each in found].count("small") == 2 and len(found) == 3
    (odd,) = (each for each in found if each["name"] != "small")
    assert {"EXP606", "EXP607", "EXP608"} == set(odd["findings"])
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
        row = next(line for line in said.splitlines() if line.startswith(odd["digest"][:12]))
        assert "EXP606" in row, said
        hidden = {"made", "kind", "targets", "p90"} - set(headings.split())
        listed = " ".join(said.split("\n\n")[0].split()).partition("columns: ")[2].partition(" (")[0]
        assert set(listed.split(", ")) - {""} == hidden, said
    assert len(rows(cli("history", "list", "--name", "sma*", "--format", "json"))) == 2
    assert len(rows(cli("history", "list", "--last", "1", "--format", "json"))) == 1


def test_json_has_all_records_unless_fewer_are_asked_for(
    cli: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contract_lint.plugins.cli.history.LAST", 2)
    found = json.loads(cli("history", "--format", "json").stdout)
    assert (len(found["records"]), found["older"]) == (3, 0)
    found = json.loads(cli("history", "--last", "1", "--format", "json").stdout)
    assert (len(found["records"]), found["older"]) == (1, 2)
    assert "2 records, 1 older: --last 3 lists all" in cli("history").stdout


def test_options_without_a_word_are_those_of_list(cli: Run, recorded: Path) -> None:
    assert rows(cli("history", "--name", "sma*", "--format", "json")) == rows(
        cli("history", "list", "--name", "sma*", "--format", "json")
    )
    assert len(rows(cli("history", "--last", "1", "--format", "json"))) == 1
    assert "compare" in cli("history", "--help").stdout and "--last" in cli("history", "list", "--help").stdout
    assert cli("history", "--no-such").returncode == 2 and cli("history", "no-such").returncode == 2


def test_a_rule_that_is_broken_twice_stands_once(cli: Run, recorded: Path) -> None:
    (recorded / "m.jsonl").write_text('{"a": NaN, "b": Infinity}')
    cli("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")
    newest = rows(cli("history", "--format", "json"))
    assert [sorted(each["findings"]) for each in newest if "a" in each["metrics"]] == [["EXP607", "EXP608", "EXP611"]]


def test_without_records(cli: Run) -> None:
    done = cli("history")
    assert (done.returncode, "no record yet" in done.stdout) == (0, True)
    assert "There is no record yet" in cli("history", "plot").stdout
    assert cli("history", "compare", "abcd", "abce").returncode == 2
    assert cli("history", "compare", "abcd").returncode == 2


def test_why_there_is_no_row_is_told(cli: Run, recorded: Path) -> None:
    assert "no record of that name: 3 records of other names" in cli("history", "--name", "zz*").stdout
    for path in (recorded / ".contract-lint/records").iterdir():
        path.write_text(path.read_text() + " ")
    assert "no record that can be read: 3 files cannot" in cli("history").stdout


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


def test_the_page_loads_nothing_and_escapes(cli: Run, recorded: Path) -> None:
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


def test_metrics_that_no_record_has_make_no_page(cli: Run, recorded: Path) -> None:
    done = cli("history", "plot", "--metric", "nix*", "--output", "none.html")
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "no metric is called nix*: there are" in said and "loss, seconds" in said
    assert not (recorded / "none.html").exists() and done.stdout == ""
    done = cli("history", "plot", "--metric", "nix*", "--metric", "los*", "--output", "one.html")
    assert done.returncode == 0 and (recorded / "one.html").exists()


def test_no_page_is_poured_on_a_terminal(recorded: Path) -> None:
    for more, said in (((), "name a file with --output"), (("--output", "h.html"), "h.html: 3 records")):
        here, there = os.openpty()
        command = [sys.executable, "-m", "contract_lint", "history", "plot", *more]
        done = subprocess.run(command, cwd=recorded, stdout=there, stderr=subprocess.PIPE, text=True)
        os.set_blocking(here, False)
        with suppress(BlockingIOError):
            assert os.read(here, 1) == b"", "something was written to the terminal"
        os.close(here)
        os.close(there)
        assert done.returncode == (0 if more else 2) and said in done.stderr
