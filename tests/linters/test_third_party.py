"""Rules of other packages: found, judged by, and part of what a cache depends on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters import third_party
from contract_lint.linters.third_party import third_party_code, third_party_rules

RULES = """
from contract_lint.linters.source.rule import SourceRule
from our_rules.words import WORD

def check(facts):
    yield facts.finding(RULE, facts.module.tree.body[0], WORD)

RULE = SourceRule(
    code="HSE001", name="house-rule", severity="error", doc="A rule of this house.", check=check, bad=(), good=()
)
RULES = [RULE]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as pip fills it, with a package that registers a rule."""
    site = tmp_path / "site"
    (site / "our_rules").mkdir(parents=True)
    (site / "our_rules/__init__.py").write_text(RULES)
    (site / "our_rules/words.py").write_text("WORD = 'first'\n")
    (site / "our_rules-1.dist-info").mkdir()
    (site / "our_rules-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: our-rules\nVersion: 1\n")
    (site / "our_rules-1.dist-info/entry_points.txt").write_text("[contract_lint.rules]\nours = our_rules:RULES\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "our_rules", raising=False)
    monkeypatch.delitem(sys.modules, "our_rules.words", raising=False)
    for cached in (third_party_rules, third_party._points):
        cached.cache_clear()
    yield site
    monkeypatch.undo()
    for cached in (third_party_rules, third_party._points):
        cached.cache_clear()


def test_all_files_of_their_package_are_told(site: Path) -> None:
    assert [rule.code for rule in third_party_rules()] == ["HSE001"]
    before = third_party_code()
    assert [os.path.basename(file) for file, *_ in before] == ["__init__.py", "words.py"]
    (site / "our_rules/words.py").write_text("WORD = 'another'\n")
    assert third_party_code() != before


def test_a_package_that_does_not_load_is_named(site: Path) -> None:
    (site / "our_rules/__init__.py").write_text("import no_such_module_anywhere\n")
    with pytest.raises(ContractLintError, match=r"'ours' of contract_lint\.rules does not load: ModuleNotFoundError"):
        third_party_code()


def test_what_an_edited_rule_says_is_said_at_once(site: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    os.utime(tmp_path / "a.py", (1, 1))

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "contract_lint", "check", "a.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stdout

    assert "HSE001 house-rule" in said() and "first" in said()
    (site / "our_rules/words.py").write_text("WORD = 'another'\n")
    assert "another" in said()
