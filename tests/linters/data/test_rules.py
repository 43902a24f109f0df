"""Every rule on data: folders that break their manifest, and twins that do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.linters.data.evidence import DataEvidence
from contract_lint.linters.data.judge import judge_data
from contract_lint.linters.data.tree import build_manifest
from contract_lint.linters.registry import builtin_rules

FILES = {"web/1.jsonl": '{"a": 1}\n', "web/2.jsonl": '{"a": 2}\n', "tok/vocab.json": '{"a": 0}'}
Change = Callable[[Path], object]
BAD: dict[str, list[tuple[Change, str]]] = {
    "DAT701": [
        (lambda root: (root / "web/1.jsonl").write_text('{"a": 9}\n'), "web/1.jsonl has another content"),
        (lambda root: (root / "web/1.jsonl").write_text(""), "9 B were promised, 0 B are there"),
    ],
    "DAT702": [
        (lambda root: (root / "tok/vocab.json").write_text('{"a": 0, "b": 1}'), "vocab is 2, and was 1"),
        (lambda root: (root / "tok/vocab.json").write_text('{"a": 0'), "tok/vocab.json has another content"),
    ],
    "DAT703": [
        (lambda root: (root / "web/1.jsonl").unlink(), "web/1.jsonl is not there"),
        (lambda root: (root / "web/1.jsonl").rename(root / "web/3"), "the same content is in web/3"),
        (lambda root: (root / "tok/vocab.json").unlink(), "the tokenizer file tok/vocab.json is not there"),
    ],
    "DAT704": [(lambda root: (root / "web/3.jsonl").write_text("x"), "web/3.jsonl lies among the data")],
}


@pytest.mark.parametrize(("code", "change", "said"), [(code, *case) for code, cases in BAD.items() for case in cases])
def test_a_change_gives_its_finding_alone(tmp_path: Path, code: str, change: Change, said: str) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    promised = build_manifest(tmp_path)
    there = build_manifest(tmp_path, lenient=True)
    assert judge_data(DataEvidence("data", promised, there)) == []
    change(tmp_path)
    found = judge_data(DataEvidence("data", promised, build_manifest(tmp_path, lenient=True)))
    assert [each.code for each in found] == [code] and said in found[0].message


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("data")} == set(BAD)
