"""Any value at any key: rules never raise, and a contract is there exactly when nothing was found in reading it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.registry import builtin_rules
from hypothesis import given, settings
from hypothesis import strategies as st

_spec = importlib.util.spec_from_file_location("contract_tests_faults", Path(__file__).with_name("faults.py"))
assert _spec is not None and _spec.loader is not None
faults = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = faults
_spec.loader.exec_module(faults)

WORDS = ["", "data", "fsdp", "parameters", "closed_form", "listed", "64KiB", "cpu:8", "(", ".*", "2020-01-01"]
SCALARS = st.one_of(st.none(), st.booleans(), st.sampled_from([-1, 0, 1, 7, 10**30, 1.5]), st.sampled_from(WORDS))
NAMES = st.sampled_from(["axes", "kind", "match", "from", "data", "a.b", "0", "target", "mesh", "x"])


def _larger(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(values, max_size=3), st.dictionaries(NAMES, values, max_size=3))


VALUES = st.recursive(SCALARS, _larger, max_leaves=6)


def _keys(value: Any, key: tuple = ()) -> list[tuple]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for part, item in below for each in ((*key, part), *_keys(item, (*key, part)))]


def _put(contract: Any, key: tuple, value: Any) -> None:
    """Replaces the value at a key."""
    for part in key[:-1]:
        contract = contract[part]
    contract[key[-1]] = value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("values")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_rules_never_raise(folder: Path, data: st.DataObject) -> None:
    contract = load_contract(faults.write(folder, faults.GOOD), root=folder).document.data
    for _ in range(data.draw(st.integers(1, 3))):
        _put(contract, data.draw(st.sampled_from(_keys(contract))), data.draw(VALUES))
    loaded = load_contract(faults.write(folder, json.dumps(contract)), root=folder)
    found = [finding for rule in builtin_rules("contract") for finding in rule.check(loaded)]
    assert all(finding.location is not None and finding.location.line for finding in found)
    loaded.resolved()
    assert (loaded.contract is None) == bool(loaded.findings)


@pytest.mark.parametrize(
    "section", ["step", "targets", "mesh", "model", "batch", "parameters", "collectives", "deviations"]
)
@pytest.mark.parametrize("value", [None, {}, [], 3, "x", [None], {"x": None}])
def test_a_section_of_any_shape(folder: Path, section: str, value: Any) -> None:
    contract = load_contract(faults.write(folder, faults.GOOD), root=folder).document.data | {section: value}
    loaded = load_contract(faults.write(folder, json.dumps(contract)), root=folder)
    found = [finding for rule in builtin_rules("contract") for finding in rule.check(loaded)]
    assert all(finding.location is not None and finding.location.line for finding in found)
