"""A baseline knows findings without line numbers, counts them, and only shrinks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict.baseline import (
    Baseline,
    apply_baseline,
    entries,
    is_below,
    read_baseline,
    write_baseline,
)


def finding(
    line: int, subject: str = "if x > 0", ordinal: int = 0, path: str = "pkg/a.py", code: str = "JIT103"
) -> Finding:
    return Finding(
        code=code,
        name="tracer-branch",
        severity="error",
        message="m",
        subject=subject,
        location=Location(path, line, 5),
        ordinal=ordinal,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(tmp_path)


def kept(here: str, *findings: Finding) -> str:
    write_baseline(f"{here}/base.jsonl", "base.jsonl", Baseline(tuple(entries(findings, here))))
    return f"{here}/base.jsonl"


def applied(here: str, name: str, *findings: Finding, judged: bool = True) -> list[tuple[str, str]]:
    listed = read_baseline(name, "base.jsonl").entries
    marked = apply_baseline(findings, listed, here, "base.jsonl", lambda entry: judged)
    return [(each.name, each.status) for each in marked]


def test_lines_may_shift(here: str) -> None:
    name = kept(here, finding(3), finding(9, ordinal=1))
    assert applied(here, name, finding(30), finding(90, ordinal=1)) == [("tracer-branch", "baseline")] * 2


def test_one_more_of_the_same_is_new(here: str) -> None:
    name = kept(here, finding(3))
    assert applied(here, name, finding(3), finding(4, ordinal=1)) == [
        ("tracer-branch", "baseline"),
        ("tracer-branch", "new"),
    ]


@pytest.mark.parametrize("other", [finding(3, "if y"), finding(3, path="pkg/b.py"), finding(3, code="JIT104")])
def test_another_subject_file_or_rule_is_new_and_the_entry_is_stale(other: Finding, here: str) -> None:
    name = kept(here, finding(3))
    assert applied(here, name, other) == [("tracer-branch", "new"), ("stale-baseline-entry", "new")]
    assert applied(here, name, other, judged=False) == [("tracer-branch", "new")]


def test_a_stale_entry_names_its_line(here: str) -> None:
    name = kept(here, finding(3), finding(5, "z"))
    listed = read_baseline(name, "base.jsonl").entries
    (stale,) = apply_baseline([finding(3)], listed, here, "base.jsonl", lambda entry: True)[1:]
    assert str(stale.location) == "base.jsonl:3" and "pkg/a.py: z" in stale.message


def test_the_file_is_sorted_and_the_same_from_any_folder(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [finding(9, "b"), finding(1, "a"), finding(4, path="pkg/Z.py")]
    first = Path(kept(here, *found)).read_text()
    assert first == Path(kept(here, *reversed(found))).read_text()
    assert [json.loads(line)["path"] for line in first.splitlines()[1:]] == ["pkg/Z.py", "pkg/a.py", "pkg/a.py"]
    (Path(here) / "pkg").mkdir()
    monkeypatch.chdir(Path(here) / "pkg")
    moved = [replace(each, location=Location(Path(each.location.path).name, 1)) for each in found if each.location]
    assert Path(kept(here, *moved)).read_text() == first


def test_the_fingerprint_is_that_of_the_other_reports(here: str) -> None:
    (entry,) = entries([finding(3)], here)
    assert entry.fingerprint == finding(3).fingerprint


def test_suppressed_findings_are_not_written(here: str) -> None:
    assert entries([replace(finding(3), status="suppressed")], here) == []


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", "{}", "[]", '{"path": 1}', "{" * 5, "[" * 100_000])
def test_a_line_that_is_no_entry(line: str, here: str) -> None:
    Path("base.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(ContractLintError, match=r"base.jsonl:2: is no line of a baseline") as caught:
        read_baseline("base.jsonl", "base.jsonl")
    assert "--update-baseline" in str(caught.value)


def test_a_file_that_cannot_be_read_or_written(here: str) -> None:
    with pytest.raises(ContractLintError, match="cannot be read"):
        read_baseline("missing.jsonl", "missing.jsonl")
    Path("bytes.jsonl").write_bytes(b"\xff")
    with pytest.raises(ContractLintError, match="cannot be read"):
        read_baseline("bytes.jsonl", "bytes.jsonl")
    with pytest.raises(ContractLintError, match="cannot be written"):
        write_baseline("no/such/base.jsonl", "no/such/base.jsonl", Baseline())


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [
        ("src/a.py", "src", True),
        ("src", "src", True),
        ("src/a.py", ".", True),
        ("./src", "src/", True),
        ("srcs/a.py", "src", False),
        ("../x", ".", False),
        ("src", "..", True),
        ("../x", "..", True),
        ("../../x", "..", False),
        ("..", ".", False),
        ("../..", "..", False),
        ("/elsewhere", ".", False),
    ],
)
def test_below(path: str, folder: str, below: bool) -> None:
    assert is_below(path, folder) is below


def test_what_a_baseline_was_written_over() -> None:
    there = {"src", "src/in", "tests", "."}.__contains__
    some = tuple(entries([finding(3)], "."))
    before = Baseline(some, ("src", "tests"))
    assert before.covered(["src", "tests"], there) and before.covered(["."], there) and before.covered([".."], there)
    assert not before.covered(["src"], there) and not before.covered(["src/in", "tests"], there)
    assert before.covering(["src/in"], there) == ("src", "tests") and before.covering(["."], there) == (".",)
    assert Baseline().covering(["src", "src/in"], there) == ("src",), "nothing was there yet"
    moved = Baseline(some, ("src", "old"))
    assert moved.covered(["src"], there) and moved.covering(["tests"], there) == ("src", "tests")


def test_a_file_that_does_not_say_what_it_covers_is_about_its_folder(here: str) -> None:
    Path("base.jsonl").write_text(entries([finding(3)], here)[0].as_line() + "\n")
    assert read_baseline("base.jsonl", "base.jsonl").covers == (".",)
    Path("base.jsonl").write_text('{"covers": ["b", "a"]}\n{"covers": ["c"]}\n')  # merged
    assert read_baseline("base.jsonl", "base.jsonl") == Baseline((), ("a", "b", "c"))
