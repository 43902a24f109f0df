"""Random subsets of faults in what a contract says of optimisation and data: exactly these findings, all in one run."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path
from random import Random

import pytest
from contract_lint.contracts.finding import Finding, merge_targets
from contract_lint.contracts.load import load_contract
from contract_lint.linters.registry import builtin_rules

from . import data_faults, faults, meaning_faults
from .meaning_faults import Fault

GOOD = meaning_faults.GOOD + data_faults.GOOD
FAULTS = (*meaning_faults.FAULTS, *data_faults.FAULTS)
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
    return Counter((fault.code, fault.key, *place(text, fault.at)) for fault in planted)


def place(text: str, at: str) -> tuple[int, int]:
    """Line and column of what `at` marks with `^`, else of its begin."""
    context, _, marked = at.rpartition("^")
    line, column = faults.place(text, context + marked)
    lines = context.split("\n")
    return line + len(lines) - 1, len(lines[-1]) + (column if len(lines) == 1 else 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contracts")


def test_the_good_contract_has_no_finding(folder: Path) -> None:
    assert [finding.message for finding in judge(folder, GOOD)] == []


def test_there_are_at_least_twenty_operators() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len(meaning_faults.FAULTS) >= 20 and len(data_faults.FAULTS) >= 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_each_fault_alone(fault: Fault, folder: Path) -> None:
    text = faults.plant([fault], GOOD)
    assert Counter(map(identity, judge(folder, text))) == expected([fault], text)


@pytest.mark.parametrize(
    "seed", [seed if seed < 8 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(300)]
)
def test_random_subsets(folder: Path, seed: int) -> None:
    random = Random(seed)
    chosen = random.sample(FAULTS, random.randint(2, len(FAULTS)))
    planted = independent(faults.compatible(chosen, GOOD))
    text = faults.plant(planted, GOOD)
    assert Counter(map(identity, judge(folder, text))) == expected(planted, text), [each.name for each in planted]


APART = (
    {
        "schedule of another length",
        "schedule in microbatches",
        "schedule in tokens",
        "long warm-up",
        "uneven microbatches",
    },
    {"term twice", "two primary terms", "no normaliser", "no weight", "no primary term"},
    {"no primary term", "primary term turned round", "primary term of no weight"},
    {"no primary term", "no normaliser", "no weight", "objective over rows", "two primary terms"},
    {"term twice", "metric over microbatches", "metric of no term"},
    {"uneven microbatches", "loss logged by microbatches", "mean of means"},
    {"another optimizer", "unknown transformation"},
    *data_faults.APART,
)
"""Faults that say something about each other: of each set one is planted at a time."""


def independent(chosen: list[Fault]) -> list[Fault]:
    kept: list[Fault] = []
    for fault in chosen:
        if not any(fault.name in names and any(other.name in names for other in kept) for names in APART):
            kept.append(fault)
    return kept
