"""The numbers of a checkpoint against those of the arrays that Orbax saved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Leaf
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.summary import Summary, summary_of

SIZES = "import json, sys, numpy, ml_dtypes; print(json.dumps([numpy.dtype(n).itemsize for n in sys.argv[1:]]))"


def summary(path: Path) -> Summary:
    return summary_of(CheckpointEvidence(read_checkpoint(path)))


def test_bytes_are_those_of_numpy() -> None:
    """Elements of fewer than eight bits lie one behind the other; numpy gives each a byte."""
    names = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
    names += ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e4m3b11fnuz"]
    told = subprocess.run([sys.executable, "-c", SIZES, *names], capture_output=True, text=True, check=True).stdout
    assert [Leaf("a", shape=(3, 5), dtype=name).bytes for name in names] == [15 * size for size in json.loads(told)]
    assert [Leaf("a", shape=(3, 5), dtype=name).bytes for name in ("int4", "int2", "float4_e2m1fn")] == [8, 4, 8]
    assert (Leaf("a").elements, Leaf("a").bytes, Leaf("a", shape=(2,)).bytes) == (0, 0, 0)


def test_a_run_of_flax_and_optax(made: Path) -> None:
    found = summary(made / "run")
    # Parameters, two slots of those that are not frozen, the counts of two optimizers, and the step, an int of Python.
    parameters = {"embed": 256 * 4, "layers/w": 64 * 256 * 4, "layers/scale": 8 * 2, "blocks": 14 * 4}
    slots = 2 * (parameters["embed"] + parameters["layers/w"] + parameters["layers/scale"])
    assert found.amount.bytes == sum(parameters.values()) + slots + 2 * 4 + 8
    assert [(item.name, item.layout) for item, _ in found.items] == [("data", None), ("state", "ocdbt")]
    assert found.file_bytes == sum(path.stat().st_size for path in (made / "run/300").rglob("*") if path.is_file())
    assert (found.newest, found.parameters, found.unproven, found.verified) == (True, "state/params", (), False)


@pytest.mark.parametrize(("name", "newest"), [("run/200", None), ("run", True)])
def test_one_step_by_itself_is_not_the_newest_of_any(made: Path, name: str, newest: bool | None) -> None:
    found = summary(made / name)
    assert found.newest is newest and ("newest of 2 committed" in found.said) == (newest is True)


def test_what_is_not_looked_at_is_no_part_of_complete(made: Path, tmp_path: Path) -> None:
    assert summary(made / "items").said.startswith("complete, contents unverified;")
    folder = tmp_path / "2"
    (folder / "mine").mkdir(parents=True)
    (folder / "commit_success.txt").touch()
    (folder / "mine/a.npz").write_bytes(b"x")
    assert summary(folder).said.startswith("complete but for arrays that are not looked at, contents unverified; 0 ")


def test_a_state_without_slots_is_told_as_such(made: Path) -> None:
    assert summary(made / "weights").said.endswith("; no optimizer slots found")
    assert "no optimizer slots" not in summary(made / "run").said


@pytest.mark.parametrize("section", ["optimizer: { name: sgd }\ncheckpoint: {}", "checkpoint: { slots: {} }"])
def test_a_contract_that_wants_no_slots_misses_none(made: Path, tmp_path: Path, section: str) -> None:
    path = tmp_path / "c.contract.yaml"
    path.write_text(f'contract: 1\nname: c\nstep: {{ train: {{ entry: "m:b" }} }}\n{section}\n')
    loaded = load_contract(path).readable()
    assert "slots" not in summary_of(CheckpointEvidence(read_checkpoint(made / "weights"), loaded)).said
