"""`--format github`: one workflow command on one line for each root, nothing of the content read as a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.github import render
from contract_lint.plugins.report.repository import in_repository

COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::(.*)")


def parse(line: str) -> tuple[str, dict[str, str], str]:
    """As the runner reads it: properties split at commas and `=`, then unescaped."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    decoded = {name: unescape(value.replace("%3A", ":").replace("%2C", ",")) for name, value in properties.items()}
    return match[1], decoded, unescape(match[3])


def unescape(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_one_annotation_for_each_new_root(broken: Report) -> None:
    first, *lines = render(broken).splitlines()
    assert first.startswith("FAIL dense-fsdp on cpu:8")
    assert [parse(line)[0] for line in lines] == ["error", "warning", "notice"]
    _, properties, message = parse(lines[0])
    assert properties == {
        "file": "src/my model/train.py",
        "line": "41",
        "endLine": "41",
        "col": "9",
        "endColumn": "30",
        "title": "SHD204 unplanned-collective",
    }
    assert "1 consequence: MEM202 hbm-over-budget" in message.splitlines()


def test_hostile_text_stays_text(broken: Report, hostile: str) -> None:
    _, properties, message = parse(render(broken).splitlines()[2])
    assert properties["file"] == "dir, with:odd%chars/a|b.py"
    # Columns on an annotation over several lines would be refused.
    assert properties["line"] == "3" and properties["endLine"] == "5" and "col" not in properties
    assert "%0A::error::x" in message and "\x1b" not in message


def test_clean_report_is_one_line(clean: Report) -> None:
    assert render(clean).splitlines() == ["PASS dense-fsdp on cpu:8: every promise holds."]


def test_paths_count_from_the_root_of_the_repository(
    broken: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "packages/trainer"
    (below / "src/my model").mkdir(parents=True)
    monkeypatch.chdir(below)
    assert parse(render(broken).splitlines()[1])[1]["file"] == "packages/trainer/src/my model/train.py"
    assert in_repository("../other/train.py") == "packages/other/train.py"
    (tmp_path / "top.py").touch()
    for kept in ("/abs/train.py", "../../../outside.py", "top.py"):
        assert in_repository(kept) == kept
    monkeypatch.chdir(tmp_path)
    assert in_repository("src/train.py") == "src/train.py"


def test_outside_of_a_repository_paths_stay(tmp_path: Path) -> None:
    assert in_repository("src/train.py", tmp_path) == "src/train.py"
