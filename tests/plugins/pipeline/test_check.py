"""`check` over a tree: every contract judged by itself, everything wrong in one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.pipeline.check import check
from contract_lint.plugins.report.formats import render

GOOD = """\
contract: 1
name: small
step: { train: { entry: "a:b" } }
targets: [cpu:8]
mesh: { axes: { data: 8 } }
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/good.contract.yaml").write_text(GOOD)
    (tmp_path / "a/bad.contract.yaml").write_text(GOOD.replace("axes", "axis").replace("name: small", "nam: small"))
    (tmp_path / "a/other.yaml").write_text("x: [")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/x.contract.yaml").write_text("x: [")
    return tmp_path


def test_finds_contracts_only_and_reports_all_of_each(tree: Path) -> None:
    report = check([Path(".")])
    assert report.contracts == ("a/bad.contract.yaml", "a/good.contract.yaml")
    assert {str(f.location).rsplit(":", 1)[0] for f in report.findings} >= {
        "a/bad.contract.yaml:2",
        "a/bad.contract.yaml:5",
    }
    assert report.exit_code == 1


def test_exclude(tree: Path) -> None:
    for pattern in ("a", "a/", "bad.*", "a/bad.contract.yaml", "*/bad*"):
        assert "a/bad.contract.yaml" not in check([Path(".")], exclude=[pattern]).contracts, pattern
    assert len(check([Path(".")], exclude=["b", "ba", "good"]).contracts) == 2


def test_a_bad_file_in_a_tree_is_a_finding_and_named_by_itself_an_error(tree: Path) -> None:
    bad = tree / "a/worse.contract.yaml"
    bad.write_bytes(b"contract: 1\nname: \xff\n")
    found = [f for f in check([Path(".")]).findings if f.location and f.location.path == "a/worse.contract.yaml"]
    assert [f.name for f in found] == ["unreadable-contract"]
    with pytest.raises(ContractLintError, match=r"worse\.contract\.yaml"):
        check([bad])


def test_derived_values_come_with_their_formula(tree: Path) -> None:
    rows = check([Path("a/good.contract.yaml")]).resolved
    assert rows and all(row.contract == "a/good.contract.yaml" and row.formula for row in rows)


def test_where_there_is_no_contract_the_first_line_says_that_nothing_was_checked(tmp_path: Path) -> None:
    empty = check([tmp_path])
    assert empty.exit_code == 0
    first = render(empty, "text", 400).splitlines()[0]
    assert first.startswith("NOTHING CHECKED: no Python file (*.py, *.ipynb) and no contract (*.contract.yaml) at ")
    assert f" at {tmp_path.as_posix()}; `contract-lint init " in first
    assert render(empty, "github").startswith("NOTHING CHECKED: ")
    (tmp_path / "a.contract.yaml").write_text(GOOD)
    excluded = render(check([tmp_path], exclude=["a.*"]), "text", 400)
    assert excluded == f"NOTHING CHECKED: the one contract at {tmp_path.as_posix()} is excluded.\n"
    assert render(check([tmp_path]), "text", 400).startswith("PASS 1 contract: no finding.")
