"""Random subsets of faults in what a contract says of the optimisation: exactly these findings, all in one run."""

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
from .meaning_faults import FAULTS, GOOD, Fault

TODAY = date(2026, 12, 1)


def judge(folder: Path, text: str) -> list[Finding]:
    loaded = load_contract(faults.write(folder, text), root=folder, today=TODAY)
    found = merge_targets(
        [*loaded.findings, *(finding for rule in builtin_rules("contract") for finding in rule.check(loaded))]
    )
    return [finding for finding in found if finding.is_root]


def identity(finding: Finding) -> tuple[str, str, int | None, int | None]:
    assert finding.location is not None and finding.location.path == "train.contract.yaml"
    key = re.sub(r"\[\d+\]", "[*]", str(finding.key))
    key = re.sub(r"multipliers\.?.*", "multipliers.*", key)
    return finding.code, key, finding.location.line, finding.location.column


def expected(planted: list[Fault], text: str) -> Counter:
    return Counter((fault.code, fault.key, *faults.place(text, fault.at)) for fault in planted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contracts")


def test_the_good_contract_has_no_finding(folder: Path) -> None:
    assert [finding.message for finding in judge(folder, GOOD)] == []


def test_there_are_at_least_twenty_operators() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_each_fault_alone(fault: Fault, folder: Path) -> None:
    text = faults.plant([fault], GOOD)
    assert Counter(map(identity, judge(folder, text))) == expected([fault], text)


@given(st.lists(st.sampled_from(FAULTS), unique_by=lambda fault: fault.name, min_size=2, max_size=len(FAULTS)))
@settings(max_examples=40, deadline=None)
def test_random_subsets(folder: Path, chosen: list[Fault]) -> None:
    planted = independent(faults.compatible(chosen, GOOD))
    text = faults.plant(planted, GOOD)
    assert Counter(map(identity, judge(folder, text))) == expected(planted, text)


APART = (
    {"schedule of another length", "schedule in microbatches", "long warm-up", "uneven microbatches"},
    {"term twice", "two primary terms", "no normaliser", "no weight"},
    {"another optimizer", "unknown transformation"},
)
"""Faults that say something about each other: of each set one is planted at a time."""


def independent(chosen: list[Fault]) -> list[Fault]:
    kept: list[Fault] = []
    for fault in chosen:
        if not any(fault.name in names and any(other.name in names for other in kept) for names in APART):
            kept.append(fault)
    return kept
