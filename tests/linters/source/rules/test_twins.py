"""Every rule about source finds its bad twins, line by line, and leaves every rule's good twins alone."""

from __future__ import annotations

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.linters.source.analyse import check_sources, source_rules
from contract_lint.linters.source.rule import MARK, Example, SourceRule
from contract_lint.linters.source.text import plain_source

RULES = source_rules()
BAD = [(rule, example) for rule in RULES for example in rule.bad]
GOOD = [(rule, example) for rule in RULES for example in rule.good]


def name(value: object) -> str:
    return value.name.replace(" ", "-") if isinstance(value, (SourceRule, Example)) else str(value)


def found(example: Example) -> list[Finding]:
    texts = {"example.py": example.source, **example.files}
    return check_sources([plain_source(path, text) for path, text in texts.items()])


def marked(example: Example) -> list[tuple[str, int]]:
    texts = {"example.py": example.source, **example.files}
    return sorted(
        (path, number)
        for path, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.rstrip().endswith(MARK)
    )


@pytest.mark.parametrize(("rule", "example"), BAD, ids=name)
def test_bad_twins_are_found_on_their_lines(rule: SourceRule, example: Example) -> None:
    findings = found(example)
    lines = sorted({(f.location.path, f.location.line) for f in findings if f.location and f.code == rule.code})
    assert marked(example) and lines == marked(example)
    others = {
        f"{f.name} {f.location}: {f.message}" for f in findings if f.code != rule.code and f.name not in example.also
    }
    assert others == set()


@pytest.mark.parametrize(("rule", "example"), GOOD, ids=name)
def test_good_twins_are_clean(rule: SourceRule, example: Example) -> None:
    assert [f"{f.name} {f.location}: {f.message}" for f in found(example)] == []


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_every_rule_has_both_twins(rule: SourceRule) -> None:
    assert (rule.good and rule.bad) or rule.code == "JIT100"
    headings = ("What it does", "Why is this bad?", "Example", "Use instead", "What stays clean", "References")
    assert [each for each in headings if f"## {each}\n" not in rule.doc] == []
    assert "https://" in rule.doc
