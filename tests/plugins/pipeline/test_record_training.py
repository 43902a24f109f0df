"""What `train` leaves: the time of its steps, and a record of the run."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.record import timed
from contract_lint.plugins.pipeline.record.automatic import Where, begun, record_training
from contract_lint.plugins.pipeline.record.timed import Timed
from contract_lint.plugins.pipeline.train import kept_request

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build", args: { seed: 1 } } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
memory: { hbm: 1.50 GiB }
"""


def run(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> Timed:
    """Steps that end at these times, then the rows behind the last."""
    clock = iter([*seconds, 1000.0])
    monkeypatch.setattr(timed.time, "perf_counter", lambda: next(clock))
    rows: Iterator[dict[str, float]] = iter([{"step": n, "loss": 3.0 - n} for n in range(len(seconds))])
    found = Timed([*rows, {"entropy": 1.0}])
    assert len(list(found)) == len(seconds) + 1
    return found


def test_the_first_step_waits_for_the_compiler_and_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, 100.0, 101.0, 103.0, 104.0)
    assert [row.get("seconds") for row in found.rows] == [None, 1.0, 2.0, 1.0, None]
    seconds = found.metrics()["seconds"]
    assert (seconds.count, seconds.p50, seconds.p99, seconds.last) == (3, 1.0, 2.0, 1.0)
    assert found.metrics()["loss"].last == 0.0 and "seconds" not in run(monkeypatch, 100.0).metrics()


def save(step: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    step.mkdir(parents=True)
    (step / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))


@pytest.mark.parametrize(("checkpoints", "bound"), [("run", 1), ("in", 1), ("../out", 0), ("link", 0), (None, 0)])
def test_a_checkpoint_outside_the_project_is_not_bound_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoints: str | None, bound: int
) -> None:
    project = tmp_path / "project"
    save(project / "run/1")
    save(tmp_path / "out/1")
    (project / "link").symlink_to("../out")
    (project / "in").symlink_to("run")
    (project / "c.contract.yaml").write_text(CONTRACT)
    monkeypatch.chdir(project)
    first, *more = record_training(begun("c.contract.yaml"), None, {}, Where(), checkpoints=checkpoints)
    (made,) = (project / ".contract-lint/records").iterdir()
    assert first.startswith("record ") and len(json.loads(made.read_text())["predicate"]["checkpoints"]) == bound
    said = "the checkpoint lies outside the project and is not bound to the record"
    assert more == ([said] if checkpoints is not None and not bound else [])


def test_a_run_leaves_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = run(monkeypatch, 0.0, 1.0).metrics()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    save(tmp_path / "run/1")
    (said,) = record_training(begun("c.contract.yaml"), None, metrics, Where(), program="1" * 64, checkpoints="run")
    (made,) = (tmp_path / ".contract-lint/records").iterdir()
    predicate = json.loads(made.read_text())["predicate"]
    assert (predicate["kind"], predicate["metrics"]["loss"]["last"]) == ("train", 2.0)
    (program,), (saved,) = predicate["programs"], predicate["checkpoints"]
    assert (program["step"], program["sha256"], program["level"]) == ("train", "1" * 64, "lowered")
    assert (saved["folder"], saved["files"]) == ("run/1", 1)
    kept = kept_request(load_contract("c.contract.yaml"), "run", 1)
    assert kept is not None and kept.contract == predicate["contract"]["sections"], "a checkpoint says otherwise"
    (device,) = predicate["devices"]
    assert (device["target"], device["devices"], device["mesh"]) == ("cpu:2", 2, {"fsdp": 2})
    assert "--xla_backend_optimization_level=0" in device["xla_flags"]
    assert said.startswith("record ") and said.endswith("in .contract-lint/records (EXP608 source-unknown)")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_the_source_is_that_of_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = run(monkeypatch, 0.0, 1.0).metrics()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    seen = begun("c.contract.yaml")
    (tmp_path / "other.py").write_text("x = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "two")
    assert record_training(seen, None, metrics, Where())[0].startswith("record ")
    (made,) = (tmp_path / ".contract-lint/records").iterdir()
    assert json.loads(made.read_text())["predicate"]["source"] == {"commit": commit, "dirty": False}
    made.unlink()
    (tmp_path / "c.contract.yaml").write_text(CONTRACT + "# a comment says nothing\n")
    assert record_training(seen, None, metrics, Where())[0].startswith("record ")
    (tmp_path / "c.contract.yaml").write_text(CONTRACT.replace("seed: 1", "seed: 2"))
    (said,) = record_training(seen, None, metrics, Where())
    assert said.startswith("no record was written: c.contract.yaml: was changed while the command ran")
    assert len(list((tmp_path / ".contract-lint/records").iterdir())) == 1
