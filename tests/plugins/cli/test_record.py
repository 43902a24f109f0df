"""`contract-lint record`: one flipped byte anywhere is found and named; hostile input is refused; diffs are ordered."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.record import FileDigest, canonical, sha256
from contract_lint.contracts.record_file import parse_record
from contract_lint.plugins.pipeline.record.verify import verify_record
from contract_lint.runtime.cache_places import cache_places

Run = Callable[..., "subprocess.CompletedProcess[str]"]
METRICS = "".join(json.dumps({"step": n, "loss": 2.0 - n / 10, "seconds": 0.5 + n}) + "\n" for n in range(10))


@pytest.fixture
def project(tmp_path: Path, contract_text: str) -> Path:
    """A project with a contract that extends another, metrics, a checkpoint, a report and a file of data."""
    (tmp_path / "base.contract.yaml").write_text("mesh: { axes: { data: 2, fsdp: 4 } }\n")
    text = contract_text.replace("mesh: { axes: { data: 2, fsdp: 4 } }\n", "rng: { root: { seed: 0 } }\n")
    (tmp_path / "c.contract.yaml").write_text(text.replace("name:", "extends: [base.contract.yaml]\nname:"))
    (tmp_path / "m.jsonl").write_text(METRICS)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    (tmp_path / "run/1").mkdir(parents=True)
    (tmp_path / "run/1/state.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    (tmp_path / "run/1/more").write_text("x")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        who = ["-c", "user.name=A", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True)
    return tmp_path


def create(cli: Run, project: Path, *more: str, out: str = "out") -> Path:
    """A new record in a folder of its own."""
    bound = ("--metrics", "m.jsonl", "--checkpoint", "run", "--author", "A B <a@b>")
    done = cli("record", "create", "c.contract.yaml", *bound, "-o", out, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (project / out).iterdir()
    return made


def failed(cli: Run, project: Path) -> None:
    """A report of a check that the contract did not pass."""
    contract = project / "c.contract.yaml"
    whole = contract.read_text()
    contract.write_text("contract: 1\nname: x\n")
    assert cli("check", "c.contract.yaml", "--format", "json", "--output", "report.json").returncode == 1
    contract.write_text(whole)


def flipped(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def test_a_record_verifies_and_one_flipped_byte_in_any_file_is_named(cli: Run, project: Path) -> None:
    made = create(cli, project)
    done = cli("record", "verify", str(made))
    assert done.returncode == 0 and "5 files unchanged" in " ".join(done.stdout.split()), done.stdout
    bound = [file.path for file in parse_record(made.read_bytes(), "r").files]
    assert bound == ["base.contract.yaml", "c.contract.yaml", "m.jsonl", "run/1/more", "run/1/state.safetensors"]
    for name in bound:
        whole = (project / name).read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            flipped(project / name, at)
            done = cli("record", "verify", str(made), "--format", "json")
            (found,) = json.loads(done.stdout)["findings"]
            assert (done.returncode, found["code"], found["path"]) == (1, "EXP602", name)
            (project / name).write_bytes(whole)
    whole = made.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        flipped(made, at)
        done = cli("record", "verify", str(made), "--format", "json")
        (found,) = json.loads(done.stdout)["findings"]
        assert (done.returncode, found["code"], found["path"]) == (1, "EXP601", f"out/{made.name}")
        made.write_bytes(whole)
    for name in ("run/1/zz", "run/1/below/zz"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("")
        done = cli("record", "verify", str(made), "--format", "json")
        (found,) = json.loads(done.stdout)["findings"]
        assert (done.returncode, found["code"], found["path"]) == (1, "EXP602", name)
        (project / name).unlink()
    (project / "run/2").mkdir()  # beside the step, and not of it
    assert cli("record", "verify", str(made)).returncode == 0
    (project / "run/1/more").unlink()
    done = cli("record", "verify", str(made))
    assert done.returncode == 1 and "run/1/more: a bound file is not there" in " ".join(done.stdout.split())


EDITS: list[tuple[Callable[[Any], Any], str | None]] = [
    (lambda p: p["metrics"]["loss"].update(last=0.01), "EXP612"),
    (lambda p: p["metrics"].pop("loss"), "EXP612"),
    (lambda p: p["metrics"]["loss"].update(source="run/1/more"), "EXP612"),
    (lambda p: p["metrics"]["loss"].pop("source"), "EXP613"),
    (lambda p: p["verdicts"][0].update(verdict="pass", findings=[]), "EXP612"),
    (lambda p: p["verdicts"][0].pop("source"), "EXP613"),
    (lambda p: p["source"].update(dirty=False), "EXP613"),
    (lambda p: p.update(kind="verify"), "EXP613"),
    (lambda p: p.update(name="other"), "EXP613"),
    (lambda p: p.update(conclusion="great"), None),
]


def test_an_edited_record_with_a_new_name_is_held_against_what_it_binds(
    cli: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(cli, project)
    (project / "new.py").write_text("")
    made = create(cli, project, "--report", "report.json", "--fail-on", "never")
    said = cli("record", "verify", str(made))
    assert said.returncode == 0 and "not compared, taken as written: source (commit " in said.stderr
    assert ", tool, author," in " ".join(said.stderr.split())
    monkeypatch.chdir(project)
    for edit, code in EDITS:
        statement = json.loads(made.read_text())
        edit(statement["predicate"])
        text = canonical(statement) + "\n"
        (project / f"small.{sha256(text)}.record.json").write_text(text)
        report = verify_record(f"small.{sha256(text)}.record.json", root=str(project))
        found = {each.code for each in report.findings if each.severity == "error"}
        assert (code in found) if code else not found, (code, report.findings)
    for key in ("devices", "conclusion"):
        statement = json.loads(made.read_text())
        statement["predicate"].pop(key, None)
        text = canonical(statement) + "\n"
        if key == "conclusion":  # may be left out
            assert parse_record(text.encode(), "r").conclusion is None
        else:
            with pytest.raises(ContractLintError, match=rf"has no `predicate\.{key}`"):
                parse_record(text.encode(), "r")


def sealed(project: Path, text: str) -> str:
    """The name of a record with this text, which is its own."""
    name = f"small.{sha256(text)}.record.json"
    (project / name).write_text(text)
    return name


def test_results_that_were_left_out_are_told_and_other_bound_files_are_not(cli: Run, project: Path) -> None:
    failed(cli, project)
    (project / "settings.json").write_text('{"lr": 0.1, "schedule": "cosine"}')
    (project / "base.contract.yaml").write_text('{"mesh": {"axes": {"data": 2, "fsdp": 4}}}')
    others = ("--file", "settings.json", "--file", "run/1/more", "--report", "./report.json", "--checkpoint", "run/1")
    made = create(cli, project, "--report", "report.json", *others, "--fail-on", "never")
    done = cli("record", "verify", str(made))
    assert done.returncode == 0 and "is bound and reads as" not in done.stderr, done.stderr
    statement = json.loads(made.read_text())
    statement["predicate"] |= {"verdicts": [], "metrics": {}}
    done = cli("record", "verify", sealed(project, canonical(statement) + "\n"))
    for said in (
        "report.json is bound and reads as a report of contract-lint",
        "m.jsonl is bound and reads as metrics",
    ):
        assert said in " ".join(done.stderr.split())
    assert "settings.json" not in done.stderr and "base.contract.yaml" not in done.stderr


def test_it_says_who_what_and_how(cli: Run, project: Path) -> None:
    made = create(cli, project, "--conclusion", "loss falls")
    commit = subprocess.run(["git", "-C", project, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    predicate = json.loads(cli("record", "show", str(made), "--format", "json").stdout)["predicate"]
    assert (predicate["author"], predicate["conclusion"]) == ({"name": "A B", "email": "a@b"}, "loss falls")
    assert (predicate["source"]["commit"], predicate["source"]["dirty"]) == (commit, False)
    assert predicate["config"]["mesh"] == {"axes": {"data": 2, "fsdp": 4}}
    assert set(predicate["contract"]["sections"]) == set(predicate["config"])
    assert predicate["environment"]["packages"]["click"]
    seconds = predicate["metrics"]["seconds"]
    assert [seconds[name] for name in ("count", "mean", "p50", "p90", "p99")] == [10, 5.0, 4.5, 8.5, 9.5]
    for columns in (80, 120):
        lines = cli("record", "show", str(made), env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert max(map(len, lines)) <= columns and lines[-1] == "loss falls"


def test_a_dirty_tree_has_a_digest_of_what_differs(cli: Run, project: Path) -> None:
    def source(out: str) -> dict[str, object]:
        return json.loads(create(cli, project, out=f"{out}").read_text())["predicate"]["source"]

    (project / ".gitignore").write_text("out*\n")
    first = source("out1")
    (project / "new.py").write_text("x = 1\n")
    second = source("out2")
    (project / "new.py").write_text("x = 2\n")
    third = source("out3")
    (project / "m.jsonl").write_text(METRICS + METRICS)
    assert len({each["dirty_digest"] for each in (first, second, third, source("out4"))}) == 4
    (project / "big").touch()
    os.truncate(project / "big", 65 * 1024**2)
    done = cli("record", "create", "c.contract.yaml", "--metrics", "m.jsonl")
    assert done.returncode == 1 and "EXP605" in done.stdout and "big is not tracked and has 65.00 MiB" in done.stdout


def test_nothing_outside_is_opened_and_links_and_holes_are_refused(cli: Run, project: Path) -> None:
    made = create(cli, project)
    record = parse_record(made.read_bytes(), "r")
    file = FileDigest(path="big", sha256=sha256(""), bytes=10 * 1024**3)
    hollow = record.model_copy(update={"files": [*record.files, file]})
    (project / hollow.file_name).write_text(hollow.as_text())
    (project / "big").touch()
    os.truncate(project / "big", file.bytes)
    (project / "secret").write_text("s")
    (project / "inner").mkdir()
    (project / "inner/link").symlink_to("../secret")
    (project / "folder").symlink_to("inner")
    (project / "linked/1").mkdir(parents=True)
    (project / "linked/1/d").symlink_to("../../secret")
    (project / "linked/1/a.safetensors").write_bytes((project / "run/1/state.safetensors").read_bytes())
    outside = hollow.as_text().replace('"big"', '"../big"')
    (project / f"x.{sha256(outside)}.record.json").write_text(outside)
    (project / "bad.contract.yaml").write_text("contract: 1\nname: x\n")
    (project / "n.jsonl").write_text('{"loss": 1, "other": 2}')
    (project / "twice.jsonl").write_text('{"loss": 1, "loss": 2}')
    refused = {
        ("create", "bad.contract.yaml"): "bad.contract.yaml: has 1 error",
        ("verify", f"x.{sha256(outside)}.record.json"): "leads out of the folder",
        ("verify", "c.contract.yaml"): "is not named as records are",
        ("verify", "none.record.json"): "is not there",
        ("verify", "run"): "is no file",
        ("create", "c.contract.yaml", "--file", "big"): "big: is sparse",
        ("create", "c.contract.yaml", "--file", "inner/link"): "inner/link: is a symbolic link",
        (
            "create",
            "c.contract.yaml",
            "--file",
            "folder/link",
        ): "folder/link: lies behind `folder`, which is a symbolic link",
        ("create", "c.contract.yaml", "--file", "run"): "run: is a folder",
        ("create", "c.contract.yaml", "--file", "../x"): "lies outside of the folder",
        ("create", "c.contract.yaml", "--metrics", "c.contract.yaml"): "c.contract.yaml:1: is neither a JSON object",
        ("create", "c.contract.yaml", "--report", "m.jsonl"): "m.jsonl: is no report of contract-lint",
        ("create", "c.contract.yaml", "--checkpoint", "linked"): "linked/1/d: is a symbolic link",
        ("show", "0123456"): "no record is 0123456",
        ("create", "c.contract.yaml", "--metrics", "m.jsonl", "--metrics", "./m.jsonl"): "m.jsonl: is named twice",
        (
            "create",
            "c.contract.yaml",
            "--metrics",
            "m.jsonl",
            "--metrics",
            "n.jsonl",
        ): "n.jsonl: has `loss`, and so has m.jsonl",
        ("create", "c.contract.yaml", "--metrics", "twice.jsonl"): "twice.jsonl:1: the key `loss` stands twice",
        ("create", "c.contract.yaml", "-o", "m.jsonl/x"): "m.jsonl/x: no record can be written there: Not a directory",
        ("create", "c.contract.yaml", "--conclusion", "x" * 20_001): "`conclusion` must be text of at most 20,000",
    }
    for arguments, said in refused.items():
        done = cli("record", *arguments)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, (arguments, done)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_file_of_an_edited_record_is_named_once(cli: Run, project: Path, columns: int) -> None:
    made = create(cli, project)
    env = {"COLUMNS": str(columns)}
    assert cli("record", "verify", str(made), env=env).stdout.startswith("PASS record ")
    made.write_text(made.read_text().replace("A B", "B A"))
    for arguments, named in ((("verify",), f"FAIL record {made.name.split('.')[1][:12]}: 1 error."), (("show",), "")):
        done = cli("record", *arguments, str(made), env=env)
        said = done.stdout + done.stderr
        assert said.startswith(named) and said.count(made.name) == 1, said
        assert "was changed after it was written" in " ".join(said.split())
        assert all(len(line) <= columns or made.name in line for line in said.splitlines()), said


def test_text_from_outside_is_printed_on_its_line_without_controls(cli: Run, project: Path) -> None:
    odd = "\x1b[31m<b>\nx\u202e"
    (project / "n.jsonl").write_text(json.dumps({odd: 1, f"{odd}t": "text", "loss": 1}) + "\n")
    made = cli(
        "record",
        "create",
        "c.contract.yaml",
        "--metrics",
        "n.jsonl",
        "--conclusion",
        odd,
        "--author",
        odd.replace("<b>", ""),
    )
    assert made.returncode == 0 and "\\x1b[31m<b> x\\u202et (text)" in made.stderr, made.stderr
    for arguments in (("record", "verify", "latest"), ("record", "show", "latest"), ("history",)):
        done = cli(*arguments)
        assert done.returncode == 0 and not {"\x1b", "\u202e"} & {*(done.stdout + done.stderr)}, done
    folder = project / "run/1"
    create(cli, project)
    (folder / odd).touch()
    (made_in,) = (project / "out").iterdir()
    for form in ("text", "concise", "github", "markdown", "sarif", "junit", "json"):
        done = cli("record", "verify", str(made_in), "--format", form)
        assert done.returncode == 1 and "\x1b" not in done.stdout, form
    for option in ("--author", "--conclusion"):
        done = cli("record", "create", "c.contract.yaml", option, "a\udcffb")
        assert done.returncode == 2 and "text in which every character is whole" in done.stderr, done.stderr


def _folder(path: Path, whole: bytes) -> None:
    path.mkdir()
    (path / "inside").write_bytes(whole)


def _stretched(path: Path, whole: bytes) -> None:
    path.touch()
    os.truncate(path, 10 * 1024**3)


PLACES: list[tuple[Callable[[Path, bytes], None], str]] = [
    (lambda path, whole: path.symlink_to("copy"), "is a symbolic link"),
    (_folder, "is a folder"),
    (lambda path, whole: os.mkfifo(path), "is no file"),
    (_stretched, "is sparse: it has 10.00 GiB, stored are 0 B"),
]


@pytest.mark.parametrize(("put", "said"), PLACES)
def test_what_took_the_place_of_a_bound_file_is_told_and_every_other_is_held(
    cli: Run, project: Path, put: Callable[[Path, bytes], None], said: str
) -> None:
    made = create(cli, project, "--file", "base.contract.yaml")
    (project / "m.jsonl").write_text(METRICS + METRICS)
    path = project / "run/1/more"
    whole = path.read_bytes()
    (project / "run/1/copy").write_bytes(whole)
    path.unlink()
    put(path, whole)
    done = cli("record", "verify", str(made), "--format", "json")
    found = {each["path"]: each for each in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1 and {each["code"] for each in found.values()} == {"EXP602"}, done
    assert found["run/1/more"]["message"] == f"a bound file {said}"
    assert "then" in found["m.jsonl"]["message"] and "make a new record" in found["run/1/more"]["help"]
    assert "copy" in str(found.keys())
    if path.is_dir():  # the twin: all is as it was
        (path / "inside").unlink()
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_bytes(whole)
    (project / "m.jsonl").write_text(METRICS)
    (project / "run/1/copy").unlink()
    assert cli("record", "verify", str(made)).returncode == 0


def test_of_a_record_that_names_a_hole_of_its_size_nothing_is_read(cli: Run, project: Path) -> None:
    file = FileDigest(path="big", sha256=sha256(""), bytes=10 * 1024**3)
    record = parse_record(create(cli, project).read_bytes(), "r")
    files = sorted([*record.files, file], key=lambda each: each.path)
    hollow = sealed(project, record.model_copy(update={"files": files}).as_text())
    _stretched(project / "big", b"")
    done = cli("record", "verify", hollow, "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["path"]) == (1, "big") and "is sparse: it has 10.00 GiB" in found["message"]


def test_a_contract_is_not_read_through_a_link(cli: Run, project: Path) -> None:
    made = create(cli, project)
    (project / "base.contract.yaml").rename(project / "other.yaml")
    (project / "base.contract.yaml").symlink_to("other.yaml")
    (project / "other.yaml").write_text("{")
    done = cli("record", "verify", str(made), "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["path"], found["found"]) == (1, "base.contract.yaml", "a symbolic link")


def test_two_runs_that_differ_by_one_key_list_that_key_first(cli: Run, project: Path) -> None:
    one = create(cli, project, out="a")
    contract = project / "c.contract.yaml"
    contract.write_text(contract.read_text().replace("seed: 0", "seed: 1"))
    (project / "m.jsonl").write_text(METRICS.replace("2.0", "1.9"))
    other = create(cli, project, out="b")
    found = json.loads(cli("record", "diff", str(one), str(other), "--format", "json").stdout)
    first, *rest = found["changes"]
    assert first == {"kind": "config", "what": "rng.root.seed", "before": 0, "after": 1}
    assert [each["kind"] for each in rest if each["kind"] == "config"] == []
    assert {each["kind"] for each in rest} == {"source", "metric"}
    for columns in (80, 120):
        done = cli("record", "diff", str(one), str(other), env={"COLUMNS": str(columns)})
        assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= columns
    assert "nothing differs" in cli("record", "diff", str(one), str(one)).stdout


def test_where_it_is_and_what_was_left_out_is_said_and_several_metrics_are_joined(cli: Run, project: Path) -> None:
    (project / "n.jsonl").write_text('{"other": Infinity, "tag": "x"}\n{"other": 1.0}')
    create = ("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--metrics", "n.jsonl")
    done = cli(*create)
    (made,) = (project / ".contract-lint/records").iterdir()
    notes = [line for line in done.stderr.splitlines() if line.startswith("contract-lint: ")]
    assert notes == [
        "contract-lint: n.jsonl: left out, being no numbers: tag (text)",
        f"contract-lint: record {made.name.split('.')[1][:12]} is in .contract-lint/records/{made.name}",
    ]
    shown = cli("record", "show", "latest").stdout
    assert "1 +1 not finite" in shown and "NaN" not in shown
    verified = cli("record", "verify", "latest")
    assert verified.returncode == 0 and notes[0] in verified.stderr
    (project / ".contract-lint").rename(project / "moved")
    (project / ".contract-lint").write_text("in the way")
    cache_places.cache_clear()  # it is another command
    done = cli(*create, env={"XDG_CACHE_HOME": str(project / "home")})
    (made,) = (project / "home").rglob("*.record.json")
    assert made.as_posix().removeprefix(f"{project}/") in done.stderr
    assert (
        "captures and records are kept in" in done.stderr and ".contract-lint in the project cannot be" in done.stderr
    )


def test_a_record_is_found_by_any_first_digits_that_are_its_own(cli: Run, project: Path) -> None:
    made: list[str] = []
    for turn in range(17):  # two of 17 begin alike
        (project / "m.jsonl").write_text(json.dumps({"loss": turn}))
        cli("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--author", "A", "--fail-on", "never")
        made = [path.name.split(".")[1] for path in (project / ".contract-lint/records").iterdir()]
        first = [each[0] for each in made]
        if len(set(first)) < len(first):
            break
    twice = next(each for each in first if first.count(each) > 1)
    done = cli("record", "show", twice)
    assert done.returncode == 2 and f"2 records begin with {twice}" in done.stderr
    (free, *_) = [each for each in "0123456789abcdef" if each not in first]
    done = cli("record", "show", free)
    assert done.returncode == 2 and f"no record is {free}: there are {len(made)} records of this project" in done.stderr
    assert cli("record", "show", made[0]).returncode == 0
