"""Every planted fault gives one root finding, at the mutated line or the contract's key; clean twins give none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from faults import FAULTS
from harness import SIZES, Fault, line_of, project, promise_collectives, roots
from other_trainers import OTHER_TRAINERS

SMALL_AND_LARGE = ["small", pytest.param("large", marks=pytest.mark.slow)]


def planted(folder: Path, example: str, size: str, edits: tuple[tuple[str, str, str], ...] = ()) -> Path:
    contract = project(folder / "mutated", example, size, edits)
    if size != "small" and example != "dense_fsdp":
        promise_collectives(contract, project(folder / "clean", example, size))
    return contract


# The small twins of the first two are the examples themselves, which test_broken_promises holds to their contracts.
CLEAN = [
    ("shard_map_dp", "small"),
    *(pytest.param(example, "small", marks=pytest.mark.slow) for example in ("equinox_optax", "linen_trainstate")),
    *(pytest.param(example, "large", marks=pytest.mark.slow) for example in sorted(SIZES)),
]


@pytest.mark.parametrize(("example", "size"), CLEAN)
def test_clean_twin_keeps_its_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str, size: str
) -> None:
    contract = planted(tmp_path, example, size)
    monkeypatch.chdir(contract.parent)
    assert roots(contract, run=example != "dense_fsdp") == []


def first_of_each_kind() -> list:
    """All faults; the default run takes the first of each kind, the others are slow."""
    seen = {"changed-flag"}  # tests/runtime/test_apart.py shows in a second what it takes a whole run to see
    cases = []
    for fault in (*FAULTS, *OTHER_TRAINERS):
        cases.append(pytest.param(fault, id=str(fault), marks=[pytest.mark.slow] if fault.name in seen else []))
        seen.add(fault.name)
    return cases


@pytest.mark.parametrize("size", SMALL_AND_LARGE)
@pytest.mark.parametrize("fault", first_of_each_kind())
def test_fault_is_one_root_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, size: str) -> None:
    contract = planted(tmp_path, fault.example, size, fault.edits)
    monkeypatch.chdir(contract.parent)
    found = roots(contract, run=fault.run)
    assert [finding.code for finding in found] == [fault.code], [f"{f.code} {f.location}: {f.message}" for f in found]
    (finding,) = found
    line = line_of(contract, fault)
    if line is not None:
        assert finding.location is not None
        assert (finding.location.path.endswith(line[0]), finding.location.line) == (True, line[1])
    if fault.key is not None:
        assert finding.key is not None and finding.key.startswith(fault.key)
        assert finding.location is not None and finding.location.path.endswith("train.contract.yaml")
