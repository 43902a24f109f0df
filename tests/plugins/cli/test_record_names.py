"""Names that a file, a line or a folder of records does not take: told as they are, on one line, never passed over."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.record import canonical, sha256
from contract_lint.plugins.pipeline.record.timed import Timed

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Edit = Callable[[dict[str, Any]], object]
CREATE = ("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")


@pytest.fixture
def project(tmp_path: Path, contract_text: str) -> Path:
    (tmp_path / "c.contract.yaml").write_text(contract_text)
    (tmp_path / "m.jsonl").write_text('{"loss": 1}\n')
    return tmp_path


def made(project: Path) -> list[Path]:
    return sorted((project / ".contract-lint/records").iterdir())


@pytest.mark.parametrize("name", ["ü-名", "---", "a b", "small"])
def test_a_record_is_called_as_its_contract_is(cli: Run, project: Path, name: str) -> None:
    contract = project / "c.contract.yaml"
    contract.write_text(contract.read_text().replace("name: small", f'name: "{name}"'))
    assert cli(*CREATE).returncode == 0
    (record,) = made(project)
    digest = record.name.split(".")[1][:12]
    for arguments, said in (
        (("verify", "latest"), f"PASS record {digest} of {name}: "),
        (("diff", "latest", "latest"), f"record {digest} of {name} and record {digest} of {name}: nothing"),
        (("show", "latest"), f"{name}: created "),
    ):
        assert " ".join(cli("record", *arguments).stdout.split()).startswith(said), arguments


ODD = "a\nb\x1b"
REFUSED = [
    ("create", ODD),
    ("create", f"{ODD}.contract.yaml"),
    ("show", ODD),
    ("show", f"{ODD}.record.json"),
    ("verify", "latest", "--root", ODD),
    ("create", "c.contract.yaml", "--root", ODD),
    *(("create", "c.contract.yaml", f"--{each}", ODD) for each in ("metrics", "report", "capture", "data", "file")),
    *(("create", "c.contract.yaml", f"--{each}", ODD) for each in ("checkpoint", "python")),
    ("create", "c.contract.yaml", "--author", f"<{ODD}"),
    ("create", "c.contract.yaml", "--out", f"m.jsonl/{ODD}"),
]


@pytest.mark.parametrize("arguments", REFUSED)
def test_a_refusal_is_one_sentence_whatever_is_in_a_path(cli: Run, project: Path, arguments: tuple[str, ...]) -> None:
    cli(*CREATE)
    (project / ODD).mkdir()
    if arguments[0] != "create" or "--python" in arguments:
        (project / ODD).rmdir()
    done = cli("record", *arguments)
    first, *more = done.stderr.splitlines()
    assert done.returncode == 2 and first.startswith("error: ") and "\x1b" not in done.stderr, done
    assert [line for line in more if not line.startswith("  help: ")] == []


EDITS: list[Edit] = [
    lambda d: d.update({ODD: 1}),
    lambda d: d["subject"].append({**d["subject"][0], "name": ODD}),
    lambda d: [d["subject"].append({**d["subject"][0], "name": f"{ODD}x"}) for _ in "12"],
    lambda d: d["predicate"].update({ODD: 1}),
    lambda d: d["predicate"].update(schema_version=ODD),
    lambda d: d["predicate"]["metrics"].update({ODD: {"count": "x"}}),
]


@pytest.mark.parametrize("edit", EDITS)
def test_a_record_with_names_of_several_lines_is_refused_in_one(cli: Run, project: Path, edit: Edit) -> None:
    cli(*CREATE)
    statement = json.loads(made(project)[0].read_text())
    edit(statement)
    text = canonical(statement) + "\n"
    (project / f"x.{sha256(text)}.record.json").write_text(text)
    done = cli("record", "verify", f"x.{sha256(text)}.record.json")
    first, *more = done.stderr.splitlines()
    assert done.returncode == 2 and "\x1b" not in done.stderr and "\\n" in first, done
    assert [line for line in more if not line.startswith("  help: ")] == []


PUT: list[tuple[Callable[[Path], None], str]] = [
    (lambda path: path.symlink_to("../../m.jsonl"), "is a symbolic link"),
    (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    (lambda path: path.mkdir(), "is no file"),
    (lambda path: os.mkfifo(path), "is no file"),
]


@pytest.mark.parametrize(("put", "said"), PUT)
def test_what_is_named_as_a_record_and_is_no_file_is_told(
    cli: Run, project: Path, put: Callable[[Path], None], said: str
) -> None:
    cli(*CREATE)
    (record,) = made(project)
    assert "not read" not in cli("history").stderr
    odd = record.with_name(f"odd.{'e' * 64}.record.json")
    put(odd)
    (record.parent / "notes").mkdir()  # named otherwise: nobody's business
    done = cli("history")
    assert done.returncode == 0 and "1 record;" in done.stdout
    assert f"not read: .contract-lint/records/{odd.name}: {said}" in " ".join(done.stderr.split())
    assert "notes" not in done.stderr
    for name in ("eeee", f".contract-lint/records/{odd.name}"):
        done = cli("record", "show", name)
        assert done.returncode == 2 and said in " ".join(done.stderr.split())
    assert cli("record", "verify", "latest").returncode == 0


def test_a_link_by_the_digits_of_a_record_does_not_hide_it(cli: Run, project: Path) -> None:
    cli(*CREATE)
    (record,) = made(project)
    digest = record.name.split(".")[1]
    record.with_name(f"z.{digest}.record.json").symlink_to(record.name)
    assert "1 record;" in cli("history").stdout and cli("record", "show", digest[:12]).returncode == 0


def test_behind_which_step_a_run_was_taken_up_is_no_metric_and_a_metric_of_that_name_is(
    cli: Run, project: Path
) -> None:
    rows = Timed([{"taken_up": 4}, {"step": 5, "loss": 2.0}])
    assert len(list(rows)) == 2 and [*rows.metrics()] == ["loss"]
    (project / "m.jsonl").write_text('{"step": 1, "taken_up": 3}\n')
    assert cli(*CREATE).returncode == 0
    assert [*json.loads(made(project)[0].read_text())["predicate"]["metrics"]] == ["taken_up"]
