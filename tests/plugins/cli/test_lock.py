"""`contract-lint lock`: no lock is exit code 2, an unchanged step 0, a changed one 1; only --update writes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.lock import Lock

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[3]
STEPS = ROOT / "tests" / "runtime" / "semantics" / "cases"
CONTRACT = """\
contract: 1
name: small
step:
  train:
    entry: decaying:build
    path: [.]
targets: [cpu:1]
optimizer:
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.1, skip: ["scale"] }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
"""


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    shutil.copy(STEPS / "decaying.py", tmp_path)
    path = tmp_path / "small.contract.yaml"
    path.write_text(CONTRACT)
    return path


def test_without_a_lock_there_is_nothing_to_compare_with(cli: Run, contract: Path) -> None:
    done = cli("lock", contract.name)
    assert done.returncode == 2
    assert "small.contract.lock.json: there is no lock yet" in done.stderr and "--update --why" in done.stderr
    assert sorted(path.name for path in contract.parent.iterdir()) == ["decaying.py", "small.contract.yaml"]


@pytest.mark.parametrize("arguments", [("--update",), ("--why", "so"), ("--update", "--why", "  ")])
def test_a_lock_is_written_with_a_reason_only(cli: Run, contract: Path, arguments: tuple[str, ...]) -> None:
    done = cli("lock", contract.name, *arguments)
    assert done.returncode == 2 and "--why" in done.stderr


def test_a_broken_lock_is_named_with_its_place(cli: Run, contract: Path) -> None:
    place = contract.with_name("small.contract.lock.json")
    place.write_text(Lock("small", "so", {"train": {}}).as_text().replace('"contract"', '"contrct"'))
    done = cli("lock", contract.name)
    assert done.returncode == 2
    assert "small.contract.lock.json:3" in done.stderr and "did you mean `contract`" in done.stderr


@pytest.mark.slow
def test_a_change_of_the_mask_is_a_finding(cli: Run, contract: Path) -> None:
    lock = contract.with_name("small.contract.lock.json")
    done = cli("lock", contract.name, "--update", "--why", "The first")
    assert done.returncode == 0, done.stderr
    written = lock.read_text()
    parameters = json.loads(written)["steps"]["train"]
    assert {path: each["decay"] for path, each in parameters.items()} == {"w": 0.1, "scale": 0.0}
    assert {path: each["start"] for path, each in parameters.items()} == {"w": "normal 1", "scale": "ones"}
    assert cli("lock", contract.name).returncode == 0
    source = contract.with_name("decaying.py")
    source.write_text(source.read_text().replace('"scale": False', '"scale": True'))
    done = cli("lock", contract.name, "--format", "json")
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["name"] == "locked-meaning-changed"
    assert finding["message"] == "weight decay of `scale` in step `train` is 0.1, locked is 0"
    assert lock.read_text() == written


@pytest.mark.slow
def test_the_lock_of_the_example_holds(cli: Run, tmp_path: Path) -> None:
    for path in (ROOT / "examples" / "dense_fsdp").iterdir():
        if path.name.startswith(("train.contract.", "semantics.contract.")):
            shutil.copy(path, tmp_path)
    done = cli("lock", "semantics.contract.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
