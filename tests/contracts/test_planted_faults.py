"""Random subsets of planted faults: exactly these findings, each in its place, all in one run."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding, merge_targets
from contract_lint.contracts.load import load_contract
from contract_lint.linters.registry import builtin_rules
from hypothesis import given, settings
from hypothesis import strategies as st

from . import faults

TODAY = date(2026, 12, 1)


def judge(folder: Path, text: str) -> list[Finding]:
    loaded = load_contract(faults.write(folder, text), root=folder, today=TODAY)
    before = repr(loaded.document.data)
    found = merge_targets(
        [*loaded.findings, *(finding for rule in builtin_rules("contract") for finding in rule.check(loaded))]
    )
    assert repr(loaded.document.data) == before, "judging changed the contract"
    return found


def identity(finding: Finding) -> tuple[str, str, int | None, int | None]:
    assert finding.location is not None and finding.location.path == "train.contract.yaml"
    return (finding.code, re.sub(r"\[\d+\]", "[*]", str(finding.key)), finding.location.line, finding.location.column)


def expected(planted: list, text: str) -> Counter:
    return Counter((fault.code, fault.key, *faults.place(text, fault.at)) for fault in planted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contracts")


def test_the_good_contract_has_no_finding(folder: Path) -> None:
    assert judge(folder, faults.GOOD) == []


def test_there_are_at_least_twenty_operators() -> None:
    assert len({fault.name for fault in faults.FAULTS}) == len(faults.FAULTS) >= 20


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_each_fault_alone(fault, folder: Path) -> None:
    text = faults.plant([fault])
    roots = [finding for finding in judge(folder, text) if finding.is_root]
    assert Counter(map(identity, roots)) == expected([fault], text)


@given(
    st.lists(
        st.sampled_from(faults.FAULTS), unique_by=lambda fault: fault.name, min_size=2, max_size=len(faults.FAULTS)
    )
)
@settings(max_examples=60, deadline=None)
def test_random_subsets(folder: Path, chosen: list) -> None:
    planted = faults.compatible(chosen)
    text = faults.plant(planted)
    roots = [finding for finding in judge(folder, text) if finding.is_root]
    assert Counter(map(identity, roots)) == expected(planted, text)


def test_all_compatible_faults_at_once(folder: Path) -> None:
    planted = faults.compatible(list(faults.FAULTS))
    assert len(planted) >= 35
    text = faults.plant(planted)
    roots = [finding for finding in judge(folder, text) if finding.is_root]
    assert Counter(map(identity, roots)) == expected(planted, text)
