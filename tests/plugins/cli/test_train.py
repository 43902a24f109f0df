"""`train` at a terminal: steps are counted as finished, and a run that does not end says what is left of it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build", args: { layers: 1, d_model: 32, d_ff: 64, heads: 2 } } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
"""
TRAINER = """
import json, struct, sys, time
from pathlib import Path

request = json.loads(sys.argv[1])
kept, steps = request["kept"], request["steps"]
header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
for step in (1, 2, 3):
    if kept and step == 3 and steps != 5:
        (Path(kept["folder"]) / "2").mkdir(parents=True)
        (Path(kept["folder"]) / "2/a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
        (Path(kept["folder"]) / "3.orbax-checkpoint-tmp").mkdir()
    print(json.dumps({"step": step, "loss": 3.0 - step, "grad_norm": 1.0, "tokens": 8}), flush=True)
if steps == 3:
    print(json.dumps({"entropy": 1.0, "excess": 1.0, "program": "1" * 64}))
elif steps == 9:
    time.sleep(600)
else:
    said = f"saving step 3 in {kept['folder']} failed: No space left on device"
    print(json.dumps({"failed": said, "help": "mend that"}), flush=True)
    print("what a library says", file=sys.stderr)
    sys.exit(2)
"""
CLI = """
import sys
from contract_lint.plugins.cli.main import main
from contract_lint.plugins.pipeline import train
train.MODULE = "trainer_of_three_steps"
main(["train", "c.contract.yaml", *sys.argv[1:]])
"""


@pytest.fixture
def begun(tmp_path: Path) -> Start:
    """`train` with a trainer that finishes three steps. By `--steps` it ends then (3), waits (9), or fails, with
    one step saved (4) or none (5)."""
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/trainer_of_three_steps.py").write_text(TRAINER)
    environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path / "modules")}
    environment.pop("COLUMNS", None)

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CLI, *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, **streams)

    return start


def test_finished_steps_are_counted(begun: Start, tmp_path: Path) -> None:
    out, err = begun("--steps", "3", "--every", "2").communicate()
    assert [line.split()[:2] for line in out.splitlines()[:4]] == [
        ["step", "1"], ["step", "2"], ["step", "3"], ["entropy", "1.0000"]
    ]  # fmt: skip
    assert "ended behind" not in err and "record " in err
    out, _ = begun("--steps", "3", "--every", "5").communicate()
    assert [line.split()[1] for line in out.splitlines() if line.startswith("step")] == ["1", "3"]
    out, _ = begun("--steps", "3", "--format", "json").communicate()
    assert [json.loads(line).get("step") for line in out.splitlines()] == [1, 2, 3, None]


@pytest.mark.parametrize(
    ("number", "code", "last"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--checkpoints", "run"), "no record was written, and the last committed step of run is 2"),
        (("--checkpoints", "run", "--no-record"), "the last committed step of run is 2"),
        ((), "no record was written, and nothing was saved: --checkpoints names a folder"),
    ],
)
def test_a_run_that_a_signal_ends_says_what_is_left(
    begun: Start, tmp_path: Path, number: signal.Signals, code: int, last: str, options: tuple[str, ...], said: str
) -> None:
    process = begun("--steps", "9", "--every", "1", *options)
    assert process.stdout is not None
    while "step      3" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == code
    assert err.split("\n")[0] == f"contract-lint: ended behind step 3 of 9: {said}"
    assert err.rstrip().endswith(last) and err.count("ended behind") == 1
    assert not (tmp_path / ".contract-lint").exists()


@pytest.mark.parametrize(
    ("steps", "left"), [("4", "the last committed step of run is 2"), ("5", "no step of run is committed")]
)
def test_a_run_that_cannot_save_says_which_step_is_committed(
    begun: Start, tmp_path: Path, steps: str, left: str
) -> None:
    process = begun("--steps", steps, "--checkpoints", "run")
    _, err = process.communicate()
    assert process.returncode == 2
    first, *rest = err.splitlines()
    assert first == f"contract-lint: ended behind step 3 of {steps}: no record was written"
    said = "the trainer stopped on cpu:2: saving step 3 in run failed: No space left on device"
    assert rest == [f"error: c.contract.yaml:3:1: {said}; {left}", "  help: mend that"]
    assert not (tmp_path / ".contract-lint").exists()


def test_what_never_began_says_only_why(begun: Start, tmp_path: Path) -> None:
    said = json.dumps({"failed": f"writing config.json in {tmp_path}/run failed: No room", "help": None})
    (tmp_path / "modules/trainer_of_three_steps.py").write_text(f"print({said!r})\nraise SystemExit(2)")
    process = begun("--steps", "3", "--checkpoints", "run")
    _, err = process.communicate()
    assert process.returncode == 2
    why = "writing config.json in run failed: No room"
    assert err == f"error: c.contract.yaml:3:1: the trainer stopped on cpu:2: {why}\n"
    (tmp_path / "modules/trainer_of_three_steps.py").write_text("raise SystemExit('died of something')")
    _, err = begun("--steps", "3", "--checkpoints", "run").communicate()
    assert err == "error: c.contract.yaml:3:1: the trainer stopped on cpu:2: died of something\n"


@pytest.mark.slow
def test_a_disk_that_takes_no_more_is_one_sentence(tmp_path: Path) -> None:
    """Of the real trainer, whose libraries say it in errors of several kinds, and again when it ends."""
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    command = [sys.executable, "-m", "contract_lint", "train", "c.contract.yaml", "--steps", "6", "--save-every", "2"]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    done = subprocess.run(
        [*command, "--checkpoints", "run"], cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit
    )
    assert done.returncode == 2, done.stderr
    error = " ".join(done.stderr.partition("error: ")[2].split())
    said = (
        "saving step 2 in run failed: File too large; no step of run is committed help: when that is mended, the same"
    )
    assert error.startswith(f"c.contract.yaml:3:1: the trainer stopped on cpu:2: {said}"), done.stderr
    again = subprocess.run([*command, "--checkpoints", "run"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0 and "ended behind" not in again.stderr, again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ("rng: { root: { seed: 1, arg: seed } }", "with seed=0, and `rng.root.seed` promises 1 help: write `seed: 1`"),
        (
            "accumulation: { microbatches: 4, arg: microbatches }",
            "with microbatches=2, and `accumulation.microbatches` promises 4 help: write `microbatches: 4`",
        ),
        ("rng: { root: { seed: 0, arg: seed } }", None),
        ("rng: { root: { seed: 0, arg: sed } }", "names the build argument `sed`, which the trainer does not have"),
    ],
)
def test_a_step_that_is_built_with_another_value_than_promised_is_not_trained(
    tmp_path: Path, promise: str, said: str | None
) -> None:
    (tmp_path / "c.contract.yaml").write_text(f"{CONTRACT}{promise}\n")
    command = [
        sys.executable,
        "-m",
        "contract_lint",
        "train",
        "c.contract.yaml",
        "--steps",
        "1",
        "--checkpoints",
        "run",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == (0 if said is None else 2), done.stderr
    assert said is None or said in " ".join(done.stderr.split())
    assert (tmp_path / "run").exists() == (said is None)
