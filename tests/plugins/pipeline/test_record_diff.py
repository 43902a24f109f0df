"""What two records differ in, likely causes first."""

from __future__ import annotations

from typing import Any

from contract_lint.contracts.record import (
    CheckpointState,
    DataState,
    DeviceState,
    Environment,
    FileDigest,
    Metric,
    ProgramState,
    Record,
    SourceState,
    VerdictState,
)
from contract_lint.plugins.pipeline.record.diff import record_diff

from ...linters.record.small_record import CONFIG, small


def record(turn: int, **changes: Any) -> Record:
    """A record in which everything is another with another `turn`."""
    digest = str(turn) * 64
    whole: dict[str, Any] = {
        "config": CONFIG | {"name": f"small{turn}", "rng": {"root": {"seed": turn}}},
        "programs": [ProgramState(target="cpu:8", step="train", sha256=digest, contract_digest=digest)],
        "source": SourceState(commit=str(turn) * 40, dirty=False),
        "files": [FileDigest(path=name, sha256=digest, bytes=1) for name in ("d.json", "notes.txt")],
        "data": [DataState(manifest="d.json", root=f"sha256:{digest}")],
        "environment": Environment(
            python="3", platform="Linux", lock=digest, packages={"abc": f"{turn}", "jax": f"0.{turn}", "same": "1"}
        ),
        "devices": [DeviceState(target="cpu:8", devices=8, kind=f"cpu{turn}", xla_flags=[f"--xla_x={turn}"])],
        "checkpoints": [CheckpointState(folder="run/1", root=digest, files=0)],
        "verdicts": [VerdictState(verb="verify", verdict="pass" if turn == 1 else "fail", headline="x")],
        "metrics": {"loss": Metric(count=1, last=float(turn)), "gone" if turn == 1 else "new": Metric(count=1, last=1)},
        "conclusion": f"conclusion {turn}",
    }
    return small(**(whole | changes))


def test_what_was_asked_for_comes_first_and_what_came_out_last() -> None:
    found = record_diff("a", "b", record(1), record(2)).differences
    assert [(each.kind, each.what) for each in found] == [
        ("config", "rng.root.seed"),
        ("config", "name"),
        ("program", "train on cpu:8"),
        ("source", "commit"),
        ("data", "d.json"),
        ("version", "jax"),
        ("version", "abc"),
        ("flags", "cpu:8"),
        ("devices", "cpu:8"),
        ("checkpoint", "run/1"),
        ("file", "notes.txt"),
        ("verdict", "verify"),
        ("metric", "loss"),
        ("metric", "gone"),
        ("metric", "new"),
        ("other", "conclusion"),
    ]
    changes = {each.what: each.change for each in found}
    assert changes["loss"] == 1.0 and changes["new"] is None
    assert record_diff("a", "b", record(1), record(1)).differences == ()


def test_a_contract_that_says_the_same_in_another_text_is_a_file() -> None:
    files = [FileDigest(path="c.contract.yaml", sha256=digest * 64, bytes=1) for digest in "12"]
    one, other = (record(1, files=[file]) for file in files)
    (found,) = record_diff("a", "b", one, other).differences
    assert (found.kind, found.what) == ("file", "c.contract.yaml")
