"""Case files from public reports, handed over beside the project: marked lines are found, clean files stay clean.

A file with a line `# EXPECT: must stay clean` in its header has no finding at all. In the others, each line that ends
with `# expect: rule` has exactly that finding. The files are read, never run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.text import plain_source

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
FOLDER = Path(CORPUS) / "cases" / "source" if CORPUS else None
CASES = sorted(FOLDER.glob("*.py")) if FOLDER else []
CLEAN = [path for path in CASES if "# EXPECT: must stay clean" in path.read_text()]
FAULTY = [path for path in CASES if path not in CLEAN]

pytestmark = pytest.mark.skipif(not CASES, reason="CONTRACT_LINT_CORPUS is not set: no case files to read")


def findings(path: Path) -> list[Finding]:
    """What all rules say of one file by itself."""
    return check_sources([plain_source(path.name, path.read_text())])


def expected(path: Path) -> dict[int, set[str]]:
    """The names of rules by line."""
    marks = ((number, re.search(r"# expect: ([a-z0-9, -]+)$", line)) for number, line in lines(path))
    return {number: {name.strip() for name in mark[1].split(",")} for number, mark in marks if mark}


def lines(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(path.read_text().splitlines(), 1))


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_marked_lines_are_found_with_the_right_rule(path: Path) -> None:
    wanted = expected(path)
    header = {int(line): name for line, name in re.findall(r"^# EXPECT: line (\d+): (\S+)$", path.read_text(), re.M)}
    assert wanted and header == {line: name for line, names in wanted.items() for name in names}
    found: dict[int, set[str]] = {}
    for finding in findings(path):
        assert finding.location is not None and finding.location.line is not None
        found.setdefault(finding.location.line, set()).add(finding.name)
    assert {line: found.get(line, set()) for line in wanted} == wanted


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_clean_files_stay_clean(path: Path) -> None:
    assert [f"{f.name} {f.location}: {f.message}" for f in findings(path)] == []


def test_both_kinds_are_there() -> None:
    assert len(FAULTY) >= 30 and len(CLEAN) >= 15
