"""`--format github`: one workflow command on one line for each root, nothing of the content read as a command."""

from __future__ import annotations

import re

from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.github import render

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
