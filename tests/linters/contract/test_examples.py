"""Every rule on contracts and verdicts: its own bad example breaks it, its good twin does not."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from contract_lint.contracts.data_manifest import DataFile, DataManifest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.linters.registry import builtin_rules, rules
from contract_lint.linters.rule import Rule
from contract_lint.linters.verdict.deviations import Verdict
from contract_lint.linters.verdict.suppressions import suppress

VERDICT_RULES = builtin_rules("verdict")
ABOUT_OTHER_FILES = ("stale-baseline-entry",)
"""Rules whose example is no contract; tests/linters/verdict holds those."""
RULES = tuple(rule for rule in builtin_rules("contract") + VERDICT_RULES if rule.name not in ABOUT_OTHER_FILES)
HEADINGS = ["What it does", "Why is this bad?", "Example", "Use instead", "References"]

# What an example leaves out. It is as small as the rules allow, so that an example shows its own fault only.
REST = {
    "contract": "contract: 1\n",
    "name": "name: example\n",
    "config": "config: { base: ../configs/base.yml }\n",
    "step": "step: { train: { entry: my_pkg.train:build } }\n",
    "targets": "",
    "mesh": "mesh: { axes: { data: 2, fsdp: 4, tp: 2 } }\n",
    "model": (
        "model: { kind: dense, layers: 2, d_model: 64, heads: 8, kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }\n"
    ),
    "dtypes": "dtypes: {}\n",
    "batch": "batch: { size: 16 }\n",
    "optimizer": "optimizer: {}\n",
    "parameters": "parameters: {}\n",
}


SHARDS = tuple(DataFile(f"{source}/0.jsonl", "shard", 1, "sha256:" + "0" * 64) for source in ("code", "web"))
FILES = {
    "base.contract.yaml": "contract: 1\n",
    "configs/base.yml": "num_layers: 2\n",
    "data.manifest.json": DataManifest(SHARDS).as_text(),
    "src/x": "",
}


def example(rule: Rule, heading: str) -> str:
    found = re.search(rf"## {re.escape(heading)}\n```yaml\n(.*?)```", rule.doc, re.DOTALL)
    assert found is not None, f"{rule.code} has no example under {heading!r}"
    return found[1]


def judge(rule: Rule, folder: Path, fragment: str) -> list[Finding]:
    for path, text in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    own = set(re.findall(r"^(\w+):", fragment, re.MULTILINE))
    text = fragment + "".join(line for key, line in REST.items() if key not in own)
    path = folder / "contracts" / "example.contract.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    loaded = load_contract(path, root=folder, today=date(2026, 12, 1))
    found = [finding for each in builtin_rules("contract") for finding in each.check(loaded)]
    verdict = Verdict(loaded, tuple(found), judged={rule.code for rule in rules()})
    found += [finding for each in VERDICT_RULES for finding in each.check(verdict)]
    return suppress(found, loaded.path, text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_bad_example_breaks_this_rule(rule: Rule, tmp_path: Path) -> None:
    found = judge(rule, tmp_path, example(rule, "Example"))
    mine = [finding for finding in found if finding.code == rule.code]
    assert mine, f"found only {[(finding.code, finding.message) for finding in found]}"
    for finding in mine:
        assert (
            finding.location is not None and finding.location.line is not None and finding.location.column is not None
        )
        assert finding.name == rule.name and finding.severity == rule.severity
        assert finding.message and finding.message[-1] not in ".!" and "\n" not in finding.message


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_good_twin_does_not(rule: Rule, tmp_path: Path) -> None:
    found = judge(rule, tmp_path, example(rule, "Use instead"))
    assert [finding.message for finding in found if finding.code == rule.code] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_documentation(rule: Rule) -> None:
    assert re.findall(r"^## (.*)$", rule.doc, re.MULTILINE) == HEADINGS
    hundred = "4" if rule in VERDICT_RULES else "0"
    assert re.fullmatch(rf"(JIT|SHD|MEM|SEM|DAT|NUM){hundred}\d\d", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.summary.endswith(".") and "https://" in rule.doc.rpartition("## References")[2]


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
