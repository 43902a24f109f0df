"""A lock against what the step is now: nothing where nothing changed, one finding for each kind of change."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.load import LoadedContract, load_contract
from contract_lint.contracts.lock import Lock
from contract_lint.contracts.manifest import StepFacts
from contract_lint.linters.lock.evidence import LockEvidence, lock_of
from contract_lint.linters.registry import builtin_rules

sys.path.insert(0, str(Path(__file__).parents[1] / "semantics"))

from measured import facts, update

CONTRACT = """\
contract: 1
name: toy
step: { train: { entry: "m:build" } }
optimizer:
  chain:
    - { kind: reduce }
    - { kind: clip_by_global_norm, max_norm: 1.0 }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.1, skip: ["scale"] }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedContract:
    path = tmp_path / "toy.contract.yaml"
    path.write_text(CONTRACT)
    return load_contract(path, root=tmp_path)


def lock(loaded: LoadedContract, **changes: Any) -> Lock:
    step = SimpleNamespace(semantics=facts(**changes), facts=StepFacts(step="train", entry="m:build"))
    return lock_of(loaded, SimpleNamespace(steps={"train": step}), "first")  # pyright: ignore[reportArgumentType]


def judged(locked: Lock, found: Lock) -> list[tuple[str, str]]:
    evidence = LockEvidence(locked, found)
    return [(finding.name, finding.message) for rule in builtin_rules("lock") for finding in rule.check(evidence)]


def test_a_lock_says_what_each_parameter_means(loaded: LoadedContract) -> None:
    w, scale = (lock(loaded).steps["train"][path] for path in ("w", "norm/scale"))
    assert (w.decay, w.rate, w.clip, w.start) == (0.1, 1.0, "all", "normal 1")
    assert (scale.decay, scale.rate, scale.clip, scale.start) == (0.0, 1.0, "all", "ones")


def test_nothing_is_said_where_nothing_changed(loaded: LoadedContract) -> None:
    assert judged(lock(loaded), lock(loaded)) == []


def test_each_kind_of_change_is_a_finding(loaded: LoadedContract) -> None:
    decays = judged(lock(loaded), lock(loaded, update=update(decays={"norm/scale": 0.1})))
    assert decays == [
        (
            "locked-meaning-changed",
            "weight decay of `norm/scale` in step `train` is 0.1, locked is 0",
        )
    ]
    rates = judged(lock(loaded), lock(loaded, update=update(clipped=1.0)))
    assert [message for _, message in rates] == [
        "clip of `norm/scale` and 1 more in step `train` is none, locked is all"
    ]


def test_other_parameters_are_a_finding(loaded: LoadedContract) -> None:
    now = update()
    fewer = now.model_copy(update={"parameters": now.parameters[:1]})
    assert judged(lock(loaded), lock(loaded, update=fewer)) == [
        (
            "locked-parameters-differ",
            "step `train` has other parameters than the lock: 1 gone (`norm/scale`)",
        )
    ]


def test_a_step_that_was_not_measured_cannot_be_locked(loaded: LoadedContract) -> None:
    with pytest.raises(ContractLintError, match="cannot be locked"):
        lock(loaded, update=None)
