"""What runs wrote is no source of them, wherever it lies; a source file beside it still is."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from contract_lint.contracts.record_file import parse_record
from contract_lint.plugins.pipeline.record.create import Asked, Created, create
from contract_lint.plugins.pipeline.record.index import History
from contract_lint.plugins.pipeline.record.source_state import MOST_FILES, MOST_UNTRACKED, source_state
from contract_lint.plugins.pipeline.record.verify import verify_record

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build", args: { seed: 0 } } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
"""
CONFIG = json.dumps({"schema": 1, "config": {}, "mesh": {}, "contract": {}, "versions": {}})
RECORD = f"small.{'1' * 64}.record.json"
HEADER = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
TENSORS = struct.pack("<Q", len(HEADER)) + HEADER + bytes(8)


def put(path: Path, data: str | bytes = "{}") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in which nothing differs."""
    put(tmp_path / "c.contract.yaml", CONTRACT)
    who = ["-c", "user.name=A", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sparse(path: Path) -> None:
    put(path)
    os.truncate(path, MOST_UNTRACKED + 1)


def many(folder: Path) -> None:
    for number in range(MOST_FILES + 1):
        put(folder / f"{number}", "")


def index(path: Path) -> None:
    History(path).close()


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE weights (name TEXT)")


# What a run leaves, and what looks like it and none leaves.
OUTPUTS: list[tuple[Callable[[Path], None], Callable[[Path], None]]] = [
    (lambda p: put(p / "run/2/_CHECKPOINT_METADATA"), lambda p: put(p / "run/2/CHECKPOINT")),
    (lambda p: put(p / "run/2/state/_METADATA"), lambda p: put(p / "run/2/state/METADATA")),
    (lambda p: put(p / "a/b/manifest.ocdbt"), lambda p: put(p / "a/b/manifest.json")),
    (lambda p: put(p / "run/3.orbax-checkpoint-tmp-7/d/x"), lambda p: put(p / "run/3.tmp/d/x")),
    (lambda p: put(p / "run/3.partial_save/d/x"), lambda p: put(p / "run/3.partial/d/x")),
    (lambda p: put(p / f"out/{RECORD}"), lambda p: put(p / f"out/{RECORD[:-5]}.txt")),
    (lambda p: index(p / "h.sqlite"), lambda p: other_database(p / "h.sqlite")),
]


@pytest.mark.parametrize(("output", "other"), OUTPUTS)
def test_what_a_run_wrote_is_no_source_and_what_looks_like_it_is(
    project: Path, output: Callable[[Path], None], other: Callable[[Path], None]
) -> None:
    output(project)
    assert source_state(project).dirty is False
    subprocess.run(["git", "clean", "-q", "-f", "-d"], check=True)
    other(project)
    assert source_state(project).dirty_digest is not None


@pytest.mark.parametrize("name", ["run/2/model.py", "run/2/a.contract.yaml", "run/launch.sh", "run/20", "conf.json"])
def test_a_source_file_among_checkpoints_or_beside_them_is_source(project: Path, name: str) -> None:
    put(project / "run/2/_METADATA")
    assert source_state(project).dirty is False
    put(project / name, "1")
    first = source_state(project).dirty_digest
    put(project / name, "2")
    assert len({None, first, source_state(project).dirty_digest}) == 3


def test_observations_are_those_that_a_run_left(project: Path) -> None:
    for name, text in (("config.json", CONFIG), ("metrics.jsonl", ""), ("statistics-00000002.safetensors", "")):
        put(project / "run/seen" / name, text)
    assert source_state(project).dirty is False
    put(project / "run/seen/notes.txt")
    assert source_state(project).dirty is True
    (project / "run/seen/notes.txt").unlink()
    put(project / "run/seen/config.json", '{"layers": 2}')
    assert source_state(project).dirty is True


@pytest.mark.parametrize("fill", [sparse, many])
def test_checkpoints_of_any_size_leave_the_source_its_digest(project: Path, fill: Callable[[Path], None]) -> None:
    put(project / "a.py", "x = 1\n")
    before = source_state(project)
    put(project / "run/2/_CHECKPOINT_METADATA")
    fill(project / "run/2/state/d")
    assert source_state(project) == before and before.dirty_digest is not None
    put(project / "a.py", "x = 2\n")
    assert source_state(project).dirty_digest not in (None, before.dirty_digest)
    fill(project / "data/d")
    assert source_state(project).undigested is not None


def made(*, checkpoint: str, out: str = "out") -> Created:
    return create("c.contract.yaml", Asked(metrics=["m.jsonl"], checkpoints=[checkpoint]), out=out)


def failing(record: Created) -> list[str]:
    return [f"{each.code} {each.location}" for each in verify_record(str(record.path), root=".").findings]


def test_what_a_record_binds_as_results_is_no_source_of_it_and_more_steps_leave_it_as_it_is(project: Path) -> None:
    put(project / "m.jsonl", '{"loss": 1}\n')
    for step in "12":
        put(project / f"run/{step}/model.safetensors", TENSORS)
    one = made(checkpoint="run", out="run/2")
    assert (one.record.source.dirty, one.record.checkpoints[0].files) == (False, 1)
    put(project / "run/3/model.safetensors", TENSORS)
    other = made(checkpoint="run")
    assert (other.record.source, other.record.checkpoints[0].folder) == (one.record.source, "run/3")
    assert failing(one) == failing(other) == []
    put(project / "run/2/more", "")
    assert failing(one) == ["EXP602 run/2/more"]
    put(project / "run/more", "")
    assert made(checkpoint="run").record.source.dirty is True


def test_of_a_project_that_is_a_checkpoint_git_and_records_are_no_part(project: Path) -> None:
    put(project / "m.jsonl", '{"loss": 1}\n')
    put(project / "model.safetensors", TENSORS)
    first = create("c.contract.yaml", Asked(metrics=["m.jsonl"], checkpoints=["."]))
    record = parse_record(first.path.read_bytes(), "r")
    assert [file.path for file in record.files] == ["c.contract.yaml", "m.jsonl", "model.safetensors"]
    subprocess.run(["git", "add", "m.jsonl"], check=True)
    create("c.contract.yaml", Asked(metrics=["m.jsonl"], checkpoints=["."]))
    assert failing(first) == [] and record.source.dirty is False
    put(project / "model.safetensors", TENSORS[:-1] + b"1")
    assert failing(first) == ["EXP602 model.safetensors"]
