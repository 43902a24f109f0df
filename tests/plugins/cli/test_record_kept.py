"""What `verify` leaves: a record in a folder that git ignores, one line about it, and no failure where it cannot."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ...linters.program.small_captures import CPU, capture, contract

Run = Callable[..., "subprocess.CompletedProcess[str]"]
JUDGE = ("verify", "x.contract.yaml", "--capture", "cap")


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A project with a capture of its contract."""
    contract(tmp_path, CPU)
    capture(tmp_path / "cap", CPU, need=4096, effort="full")
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    return tmp_path


def kept(project: Path) -> list[Path]:
    return sorted((project / ".contract-lint").glob("records/*"))


def test_a_verdict_leaves_a_record_that_git_ignores(cli: Run, judged: Path) -> None:
    done = cli(*JUDGE)
    (made,) = kept(judged)
    digest = made.name.split(".")[1]
    assert f"record {digest[:12]} in .contract-lint/records" in done.stderr and digest not in done.stdout
    status = subprocess.run(["git", "-C", judged, "status", "--porcelain"], capture_output=True, text=True).stdout
    assert ".contract-lint" not in status
    predicate = json.loads(made.read_text())["predicate"]
    assert predicate["kind"] == "verify" and predicate["metrics"]["memory.need_bytes[cpu:8 train]"]["last"] == 4096
    (verdict,) = predicate["verdicts"]
    assert verdict["headline"].startswith(("PASS", "FAIL")) and verdict["verdict"] in ("pass", "fail")
    (program,) = predicate["programs"]
    assert (program["target"], program["step"], len(program["sha256"])) == (CPU, "train", 64)
    assert "EXP609" in done.stderr  # the capture says that it was made for another version of the contract
    assert cli("record", "verify", "latest", "--ignore", "EXP609").returncode == 0


def test_it_can_be_turned_off(cli: Run, judged: Path) -> None:
    assert "record" not in cli(*JUDGE, "--no-record").stderr
    assert not (judged / ".contract-lint").exists()


def test_checking_writes_none(cli: Run, judged: Path) -> None:
    done = cli("check", "x.contract.yaml")
    assert (done.returncode, done.stderr, kept(judged)) == (0, "", [])


def test_where_it_cannot_be_written_one_line_says_so_and_the_verdict_stands(cli: Run, judged: Path) -> None:
    expected = cli(*JUDGE, "--no-record")
    (judged / ".contract-lint").write_text("in the way")
    done = cli(*JUDGE, env={"XDG_CACHE_HOME": str(judged / "x.contract.yaml")})
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    (line,) = [each for each in done.stderr.splitlines() if "no record" in each]
    assert "can be written to" in line


def test_a_capture_that_is_bound_is_worked_out_again(cli: Run, judged: Path) -> None:
    create = ("record", "create", "x.contract.yaml", "--capture", "cap", "-o", "out", "--ignore", "EXP609")
    assert cli(*create).returncode == 0
    (made,) = (judged / "out").iterdir()
    done = cli("record", "verify", str(made), "--ignore", "EXP609")
    assert done.returncode == 0 and "taken as written" not in done.stdout
    program = judged / "cap/train/optimized.hlo.txt.gz"
    whole = program.read_bytes()
    program.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    done = cli("record", "verify", str(made), "--ignore", "EXP609", "--format", "json")
    (found, *_) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["code"], found["path"]) == (1, "EXP602", "cap/train/optimized.hlo.txt.gz")


def test_the_data_manifest_that_a_contract_names_is_bound(cli: Run, judged: Path) -> None:
    (judged / "data/web").mkdir(parents=True)
    (judged / "data/web/0.jsonl").write_text("{}\n")
    assert cli("batch", "manifest", "build", "data", "--output", "d.json").returncode == 0
    contract(judged, CPU, more="data: { dataset: { manifest: d.json } }\n")
    assert cli("record", "create", "x.contract.yaml", "-o", "out").returncode == 0
    (made,) = (judged / "out").iterdir()
    (data,) = json.loads(made.read_text())["predicate"]["data"]
    assert data == {"manifest": "d.json", "root": json.loads((judged / "d.json").read_text())["root"]}
