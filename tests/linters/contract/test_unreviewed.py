"""What `init` found and nobody confirmed is counted once, at its places, and fails nothing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.judge import judge_contract
from contract_lint.plugins.pipeline.check import check
from contract_lint.plugins.report.json import render
from contract_lint.plugins.report.text import render as text_of

ROOT = Path(__file__).parents[3]
BASE = """\
contract: 1
mesh: { axes: { data: 8 } }
collectives:
  expect:
    - { kind: all-reduce, axes: [data], count: 3, review: found by init }
    - { kind: all-gather, axes: [data], count: 1 }
"""
TEXT = """\
contract: 1
name: small
extends: [base.contract.yaml]
step: { train: { entry: "a:b", args: { review: mine }, compiles: 2, review: found by init } }
targets: [cpu:8]
deviations:
  - { rule: JIT301, match: { subject: lr }, reason: "review: found by init" }
  - { rule: JIT302, match: { subject: x }, reason: the loss is printed }
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.contract.yaml").write_text(BASE)
    path = tmp_path / "small.contract.yaml"
    path.write_text(TEXT)
    return path


def test_one_finding_lists_every_mark_where_it_stands(small: Path) -> None:
    (finding,) = (each for each in judge_contract(load_contract(small)) if each.code == "JIT019")
    assert finding.severity == "info"
    assert finding.message.startswith("3 promises are still marked `review`")
    assert finding.evidence == ("small.contract.yaml:4, base.contract.yaml:5, small.contract.yaml:7",)
    assert "`contract-lint capture small.contract.yaml -o capture`" in (finding.help or "")
    assert "`contract-lint hlo collectives capture`" in (finding.help or "")
    assert str(finding.location).startswith("small.contract.yaml:4:")


def test_the_help_is_commands_that_run_as_they_stand(small: Path) -> None:
    path = small.with_name("my small.contract.yaml")
    path.write_text(TEXT.replace("[cpu:8]", '["tpu:v5e:2x4", cpu:8]'))
    (finding,) = (each for each in judge_contract(load_contract(Path(path.name))) if each.code == "JIT019")
    first, second = re.findall("`contract-lint ([^`]*)`", finding.help or "")
    verb, contract, option, target, out, folder = shlex.split(first)
    assert (verb, contract, option, target, out) == ("capture", path.name, "--target", "tpu:v5e:2x4", "-o")
    assert second.split() == ["hlo", "collectives", folder]


def test_it_stands_after_what_fails_and_is_short(small: Path) -> None:
    small.write_text(TEXT.replace("[cpu:8]", "[cpu:7]"))
    text = text_of(check([small.name]), 80)
    found, _, mark = text.partition("\ninfo JIT019")
    assert "\nerror SHD" in found and "\nerror" not in mark
    assert 3 <= len(mark.partition("\n\n")[0].splitlines()) <= 6


def test_it_changes_no_exit_code_and_no_byte_from_run_to_run(small: Path) -> None:
    first, second = check([small]), check([small])
    assert [finding.code for finding in first.findings] == ["JIT019"] and first.exit_code == 0
    assert render(first) == render(second)


def test_many_marks_are_counted_not_listed(small: Path) -> None:
    rows = "".join(f"    - {{ kind: all-reduce, axes: [data], count: {n}, review: x }}\n" for n in range(30))
    (small.parent / "base.contract.yaml").write_text(BASE.partition("    -")[0] + rows)
    (finding,) = (each for each in judge_contract(load_contract(small)) if each.code == "JIT019")
    assert finding.details["count"] == 32 == len(finding.details["places"])
    (listed,) = finding.evidence
    assert listed.count("contract.yaml:") == 3 and listed.endswith(" and 29 more")


def test_our_own_examples_are_reviewed() -> None:
    contracts = sorted((ROOT / "examples").glob("*/*.contract.yaml"))
    assert len(contracts) >= 4
    for path in contracts:
        assert "JIT019" not in {finding.code for finding in judge_contract(load_contract(path))}, path
