"""`contract-lint checkpoint`: exit codes, formats, widths, digests, the handed case."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
HEAD = "contract: 1\nname: small\nstep: { train: { entry: m:build } }\n"
STATE = {f"{start}/w": [4, 2] for start in ("params", "opt_state/0/mu", "opt_state/0/nu")} | {"step": []}
SIZES = {"float32": ("F32", 4), "int32": ("I32", 4)}


BAR = "\u2500" * 18


def _saved(path: Path, shapes: Mapping[str, list[int]], dtypes: Mapping[str, str] | None = None) -> None:
    header, end = {}, 0
    for name, shape in shapes.items():
        dtype, size = SIZES[(dtypes or {}).get(name, "float32")]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end := end + size * prod(shape)]}
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for step in (100, 200):
        _saved(tmp_path / f"run/{step}/state.safetensors", STATE)
    return tmp_path / "run"


def test_a_folder_of_steps(cli: Run, run: Path) -> None:
    done = cli("checkpoint", "check", "run")
    assert (done.returncode, " ".join(done.stdout.split())) == (
        0,
        "PASS run: complete, contents unverified; step 200 (newest of 2 committed), 4 arrays, 25 elements; "
        "slots mu 1/1, nu 1/1. "
        f"slot covers {BAR} parameters 1 of 1 mu 1 of 1 nu 1 of 1",
    )
    assert "step 100 (one of 2 committed)" in cli("checkpoint", "check", "run", "--step", "100").stdout
    (run / "200/state.safetensors").write_bytes((run / "200/state.safetensors").read_bytes()[:-1])
    done = cli("checkpoint", "check", "run", "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["code"], found["path"]) == (1, "CKP609", "run/200/state.safetensors")


def _facts(cli: Run, *more: str) -> dict[str, Any]:
    return json.loads(cli("checkpoint", "check", "run", *more, "--format", "json").stdout)["checkpoint"]


def test_json_has_the_numbers_and_the_words_of_the_text(cli: Run, run: Path) -> None:
    assert cli("checkpoint", "digests", "run", "--output", "d.json").returncode == 0
    facts = _facts(cli)
    assert f"PASS run: {facts['said']}." in " ".join(cli("checkpoint", "check", "run").stdout.split())
    size = (run / "200/state.safetensors").stat().st_size
    state = {"arrays": 4, "elements": 25, "bytes": 100}
    assert {key: facts[key] for key in state} == state and facts["items"] == [
        {"name": "", "layout": "safetensors", **state}
    ]
    assert (facts["path"], facts["files"], facts["file_bytes"], facts["parameters"]) == ("run", 1, size, "params")
    assert facts["slots"] == {name: {"covered": 1, "of": 1, "masked": 0} for name in ("mu", "nu")}
    steps = [{"folder": str(step), "number": step, "state": "committed", "why": None} for step in (100, 200)]
    assert (facts["steps"], facts["step"]) == (steps, {**steps[1], "newest": True})
    assert facts["contents"] == {"verified": False, "digests": None}
    assert (facts["unproven"], facts["observed"]) == ([], None)
    verified = _facts(cli, "--digests", "d.json")
    assert (
        verified["contents"] == {"verified": True, "digests": "d.json"}
        and "contents as in d.json" in (verified["said"])
    )
    assert _facts(cli, "--step", "100")["step"] == {**steps[0], "newest": False}


def test_json_says_nothing_of_what_findings_forbid_and_keeps_the_numbers(cli: Run, run: Path) -> None:
    assert cli("checkpoint", "digests", "run", "--output", "d.json").returncode == 0
    (run / "300").mkdir()
    file = run / "200/state.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    facts = _facts(cli, "--digests", "d.json")
    assert (facts["said"], facts["contents"]) == (None, {"verified": False, "digests": "d.json"})
    assert (facts["arrays"], facts["elements"], facts["step"]["number"]) == (4, 25, 200)
    assert facts["steps"][-1] == {"folder": "300", "number": 300, "state": "unfinished", "why": "it is empty"}
    ignored = _facts(cli, "--digests", "d.json", "--ignore", "CKP601,CKP613")
    assert ignored["said"] is not None and "contents unverified" in ignored["said"]


LAYERS = [f"blocks/{name}/{number}/kernel" for name in ("attention", "feed_forward") for number in range(12)]


@pytest.mark.parametrize("columns", [80, 120])
def test_slots_are_shown_by_what_they_miss(cli: Run, tmp_path: Path, columns: int) -> None:
    """One row a slot, folded over layers; JSON has each parameter."""
    saved = {f"params/{path}": [4] for path in LAYERS} | {f"opt/mu/{path}": [4] for path in LAYERS[:12]}
    _saved(tmp_path / "run/1/state.safetensors", saved | {"opt/mu/blocks/feed_forward/0/kernel": [4]})
    done = cli("checkpoint", "check", "run", env={"COLUMNS": str(columns)})
    assert max(map(len, done.stdout.splitlines())) <= columns
    head, _, parameters, mu, *_ = done.stdout.partition("\nslot")[2].splitlines()
    assert (head.split(), parameters.split()) == (["covers", "missing"], ["parameters", "24", "of", "24"])
    assert mu.split() == ["mu", "13", "of", "24", "blocks/feed_forward/*/kernel", "(11)"]
    slots = json.loads(cli("checkpoint", "check", "run", "--format", "json").stdout)["slots"]
    assert list(slots) == ["parameters", "mu"] and list(slots["mu"]) == LAYERS
    first = {"state": "covered", "path": f"opt/mu/{LAYERS[0]}", "shape": [4], "dtype": "float32"}
    assert slots["mu"][LAYERS[0]] == first
    assert slots["mu"][LAYERS[-1]] == {"state": "missing", "path": None, "shape": None, "dtype": None}
    comment = cli("checkpoint", "check", "run", "--format", "markdown").stdout
    assert "| mu | 13 of 24 | blocks/feed\\_forward/\\*/kernel (11) |" in comment


def test_a_warning_takes_nothing_from_the_verdict(cli: Run, run: Path) -> None:
    (run / "50.orbax-checkpoint-tmp").mkdir()
    said = " ".join(cli("checkpoint", "check", "run").stdout.split())
    assert said.startswith("PASS run: complete, contents unverified; step 200 (newest of 2 committed), 4 arrays")
    assert "nu 1/1, 1 warning. First: run/200: 1 temporary name" in said
    (run / "200/state.safetensors").write_bytes((run / "200/state.safetensors").read_bytes()[:-1])
    assert "complete" not in cli("checkpoint", "check", "run").stdout.partition("First")[0]


def test_a_file_of_digests_is_exchanged_whole(cli: Run, run: Path) -> None:
    """Its other name keeps what it had: the new text was not written into the file that is there."""
    write = ("checkpoint", "digests", "run", "--output", "d.json")
    assert cli(*write).returncode == 0
    before = (run.parent / "d.json").stat().st_ino
    assert cli(*write).returncode == 0 and (run.parent / "d.json").stat().st_ino != before
    assert cli(*write[:-1], "/dev/null").returncode == 0 and Path("/dev/null").is_char_device()
    assert cli(*write[:-1], "no/where").returncode == 2
    assert sorted(each.name for each in run.parent.iterdir()) == ["d.json", "run"]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_contract_that_is_broken(cli: Run, run: Path, columns: int) -> None:
    promise = "model: { kind: listed, parameters: { w: [4, 3] } }\ncheckpoint: { state: { random key: rng } }\n"
    (run.parent / "c.contract.yaml").write_text(HEAD + promise)
    done = cli("checkpoint", "check", "run", "--contract", "c.contract.yaml", env={"COLUMNS": str(columns)})
    said = " ".join(done.stdout.split())
    assert done.returncode == 1 and max(map(len, done.stdout.splitlines())) <= columns
    assert "params/w has the shape [4, 2], promised is [4, 3]" in said
    assert "promised at c.contract.yaml:4:" in said
    assert "promised at c.contract.yaml:5:" in said and "nothing is saved at rng" in said


def test_digests_find_one_byte_and_a_swap(cli: Run, run: Path) -> None:
    done = cli("checkpoint", "digests", "run", "--output", "d.json")
    assert done.returncode == 0 and "1 file" in done.stderr
    check = ("checkpoint", "check", "run", "--digests", "d.json")
    assert cli(*check).stdout.startswith("PASS run: complete, contents as in d.json;")
    file = run / "200/state.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"\x01")
    done = cli(*check)
    assert done.returncode == 1 and "CKP613" in done.stdout and "run/200/state.safetensors" in done.stdout
    file.write_bytes(whole)
    (run / "200/more").write_text("")
    assert "more is not in the list of digests" in cli(*check).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none",), "none: is not there"),
        (("c.contract.yaml",), "c.contract.yaml: is no .safetensors file"),
        (("empty",), "empty: holds no step of a checkpoint"),
        (("run", "--step", "7"), "run: has no step 7"),
        (("run/100", "--step", "100"), "run/100: is one step, not a folder of steps"),
        (("run", "--contract", "c.contract.yaml"), "has no section `checkpoint`"),
        (("run", "--digests", "none.json"), "none.json: cannot be read"),
        (("run", "--digests", "c.contract.yaml"), "c.contract.yaml:1:1: "),
        (("run", "--select", "CKP699"), "CKP699"),
    ],
)
def test_wrong_usage(cli: Run, run: Path, arguments: tuple[str, ...], said: str) -> None:
    (run.parent / "empty").mkdir()
    (run.parent / "c.contract.yaml").write_text(HEAD)
    done = cli("checkpoint", "check", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(CORPUS is None, reason="CONTRACT_LINT_CORPUS does not name the corpus")
@pytest.mark.parametrize("variant", ["bad", "good"])
def test_the_handed_case(cli: Run, tmp_path: Path, variant: str) -> None:
    case = Path(CORPUS or ".", "cases/contracts/10_optimizer_state_missing")
    index = tmp_path / "index.json"
    subprocess.run([sys.executable, case / "gen.py", "--variant", variant, "--out", index], check=True)
    leaves = json.loads(index.read_text())
    _saved(tmp_path / "s.safetensors", *({name: leaf[at] for name, leaf in leaves.items()} for at in (0, 1)))
    (tmp_path / "c.contract.yaml").write_text(
        HEAD + "optimizer: { name: adamw }\ncheckpoint: { state: { step: step } }\n"
    )
    done = cli("checkpoint", "check", "s.safetensors", "--contract", "c.contract.yaml", "--format", "json")
    found = {each["details"]["slot"]: each for each in json.loads(done.stdout)["findings"]}
    facts = json.loads((case / "facts.json").read_text())[variant]
    covered = {slot: found[slot]["found"] if slot in found else "5 of 5" for slot in ("mu", "nu")}
    assert covered == {slot: f"{facts[f'covered_{slot}']} of {facts['params']}" for slot in ("mu", "nu")}
    if variant == "bad":
        assert found["nu"]["details"]["missing"] == ["decoder/norm/scale"]
        assert found["mu"]["details"]["other_shape"] == ["embed"]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_difference_is_told_by_its_leaf(cli: Run, run: Path, columns: int) -> None:
    same = cli("checkpoint", "diff", "run/100", "run/200")
    assert (same.returncode, same.stdout) == (0, "run/100 and run/200: the same leaves, and the same values.\n")
    _saved(run / "200/state.safetensors", STATE | {"params/w": [2, 4], "opt_state/0/mu/" + "long/" * 9 + "w": [1]})
    file = run / "200/state.safetensors"
    file.write_bytes(file.read_bytes()[:-5] + b"\x3f" + bytes(4))  # the step is 0.5
    done = cli("checkpoint", "diff", "run/100", "run/200", env={"COLUMNS": str(columns)})
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and "run/100 and run/200: 3 leaves differ: 1 added, 1 in shape, 1 in values." in said
    assert "shape params/w: float32[4, 2] -> float32[2, 4]" in said
    assert "values of elements that differ |a - b| / |a| max |a - b|" in said and "step 1 1 inf 0.5" in said
    assert max(map(len, done.stdout.splitlines())) <= columns
    found = json.loads(cli("checkpoint", "diff", "run/100", "run/200", "--format", "json").stdout)
    assert {(each["kind"], each["what"]) for each in found["changes"]} >= {("shape", "params/w")}
    assert "values were not compared" in cli("checkpoint", "diff", "run/100", "run/100", "--no-values").stdout
    assert cli("checkpoint", "diff", "run/100", "none").returncode == 2


@pytest.mark.parametrize(
    "words", [("check", "loop"), ("digests", "loop"), ("diff", "run", "loop"), ("convert", "loop", "o")]
)
def test_a_link_to_itself_is_told(cli: Run, run: Path, words: tuple[str, ...]) -> None:
    (run.parent / "loop").symlink_to("loop")
    done = cli("checkpoint", *words)
    assert done.returncode == 2 and "loop: is a symbolic link" in done.stderr and "back to itself" in done.stderr
    (run.parent / "loop").unlink()
    (run.parent / "loop").symlink_to(run)
    assert cli("checkpoint", *words).returncode == 0


def test_what_is_wrong_in_a_contract_is_said_at_once(cli: Run, run: Path) -> None:
    (run.parent / "c.yaml").write_text(HEAD.replace("step:", "stepp:") + "checkpoint: {}\n")
    done = cli("checkpoint", "check", "run", "--contract", "c.yaml")
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "nothing can be held to this contract: the contract has no `step`" in said, said
    assert said.startswith("error: c.yaml:1:1: ") and "and 1 more error help: add `step`" in said, said
    (run.parent / "c.yaml").write_text(HEAD + "checkpoint: {}\n")
    assert cli("checkpoint", "check", "run", "--contract", "c.yaml").returncode == 0
