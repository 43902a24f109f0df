"""Every planted fault gives one root finding on every target on which it exists; clean twins give none there.

The default run plants each fault of an accelerator on one target; `make test-all` plants all of them everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from accelerator_faults import ACCELERATOR_FAULTS, fault_on
from contract_lint.runtime.targets.readiness import readiness
from existence import ABSENT, FIRST, TARGETS
from faults import FAULTS
from harness import Fault, line_of
from on_targets import clean, judged, planted

BY_NAME: dict[str, Fault] = {fault.name: fault for fault in (*reversed(FAULTS), *ACCELERATOR_FAULTS)}
"""The first fault of each kind: on a target the kind matters, not the example."""

ON_CPU = {fault.name for fault in FAULTS}
"""Kinds that are planted on CPU in examples and sizes of their own, beside this."""


def pairs() -> Iterator[tuple[str, str]]:
    """(kind, place) wherever the kind exists and is not planted already."""
    for name, absent in ABSENT.items():
        yield from (
            (name, place) for place in TARGETS if place not in absent and (place != "cpu" or name not in ON_CPU)
        )


def cases() -> list:
    return [
        pytest.param(name, place, id=f"{name}-{place}", marks=[] if FIRST.get(name) == place else [pytest.mark.slow])
        for name, place in pairs()
    ]


def twins() -> list:
    """(example, place, effort) of every clean twin; the default run looks at those of its own faults."""
    found: dict[tuple[str, str, str | None], bool] = {}
    for name, place in pairs():
        fault = BY_NAME[name]
        key = (fault.example, place, fault.effort)
        found[key] = found.get(key, False) or FIRST.get(name) == place
    return [
        pytest.param(*key, id="-".join(map(str, key)), marks=[] if first else [pytest.mark.slow])
        for key, first in found.items()
    ]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all clean twins of this run."""
    return tmp_path_factory.mktemp("clean")


def require(place: str) -> None:
    found = readiness(TARGETS[place].partition(":")[0])
    if not found.ready:
        pytest.skip(f"{TARGETS[place]}: {found.missing}")


def test_the_table_names_every_fault_and_place() -> None:
    assert set(ABSENT) == {fault.name for fault in (*FAULTS, *ACCELERATOR_FAULTS)}
    assert all(set(absent) < set(TARGETS) and all(absent.values()) for absent in ABSENT.values())
    assert set(FIRST) == {fault.name for fault in ACCELERATOR_FAULTS}
    assert all(place not in ABSENT[name] for name, place in FIRST.items())


@pytest.mark.parametrize(("example", "place", "effort"), twins())
def test_clean_twin_keeps_its_contract(
    shared: Path, monkeypatch: pytest.MonkeyPatch, example: str, place: str, effort: str | None
) -> None:
    require(place)
    contract, _ = clean(shared, example, place, effort)
    monkeypatch.chdir(contract.parent)
    found = judged(contract, effort)
    assert [f"{f.code} {f.location}: {f.message}" for f in found] == []


@pytest.mark.parametrize(("name", "place"), cases())
def test_fault_is_one_root_finding(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    require(place)
    fault = fault_on(BY_NAME[name], place)
    twin, _ = clean(shared, fault.example, place, fault.effort)
    contract = planted(tmp_path, twin, fault, place)
    monkeypatch.chdir(contract.parent)
    found = judged(contract, fault.effort)
    assert [finding.code for finding in found] == [fault.code], [f"{f.code} {f.location}: {f.message}" for f in found]
    (finding,) = found
    line = line_of(contract, fault)
    if line is not None:
        assert finding.location is not None
        assert (Path(finding.location.path).name, finding.location.line) == (Path(line[0]).name, line[1])
    if fault.key is not None:
        assert finding.key is not None and finding.key.startswith(fault.key)
        assert finding.location is not None and finding.location.path.endswith("train.contract.yaml")
