"""A bound checkpoint whose folder is gone is one finding; a file of it that is gone is one by itself."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.plugins.pipeline.record.create import Asked, create
from contract_lint.plugins.pipeline.record.verify import verify_record

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build", args: { seed: 0 } } }
targets: [cpu:2]
mesh: { axes: { fsdp: 2 } }
"""
HEADER = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
FILES = {"model.safetensors": struct.pack("<Q", len(HEADER)) + HEADER + bytes(8), "d/x": b"x", "d/y": b"y"}
GONE, BEHIND = "a bound file is not there", "a bound file lies behind `d`, which is a symbolic link"


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def emptied(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], list[Finding]]:
    """What is found in a project after something was done to it."""
    (tmp_path / "c.contract.yaml").write_text(CONTRACT)
    for step in ("1", "2"):
        for name, data in FILES.items():
            path = tmp_path / "run" / step / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    monkeypatch.chdir(tmp_path)

    def after(change: Callable[[], None]) -> list[Finding]:
        made = create("c.contract.yaml", Asked(checkpoints=["run/1"]))
        change()
        return [each for each in verify_record(str(made.path)).findings if each.code == "EXP602"]

    return after


@pytest.mark.parametrize(
    ("change", "said", "instead", "help"),
    [
        (lambda: shutil.rmtree("run/1"), "is not there", "no folder", "`checkpoint.retention`"),
        (lambda: shutil.rmtree("run"), "is not there", "no folder", "`checkpoint.retention`"),
        (lambda: a_file(Path("run/1")), "is not there", "no folder", "`checkpoint.retention`"),
        (lambda: linked(Path("run/1")), "is a symbolic link", "a link", "put the folder there"),
        (lambda: linked(Path("run")), "lies behind `run`, which is a symbolic link", "a link", "put the folder there"),
    ],
)
def test_the_folder_of_a_bound_checkpoint_that_is_gone_is_one_finding(
    found: Callable[[Callable[[], None]], list[Finding]],
    change: Callable[[], None],
    said: str,
    instead: str,
    help: str,
) -> None:
    (one,) = found(change)
    assert (one.subject, one.message) == ("run/1", f"the folder of a bound checkpoint {said}")
    assert (one.expected, one.found) == ("a folder with 3 bound files", instead)
    assert help in (one.help or "") and "make the record of the newest step" in (one.help or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: None, {}),
        (lambda: shutil.rmtree("run/2"), {}),
        (lambda: emptied(Path("run/1")), dict.fromkeys(FILES, GONE)),
        (lambda: shutil.rmtree("run/1/d"), {"d/x": GONE, "d/y": GONE}),
        (lambda: linked(Path("run/1/d")), {"d/x": BEHIND, "d/y": BEHIND}),
    ],
)
def test_where_the_folder_is_there_each_file_is_told(
    found: Callable[[Callable[[], None]], list[Finding]], change: Callable[[], None], said: dict[str, str]
) -> None:
    bound = [each for each in found(change) if each.expected != "no file"]
    assert {each.subject: each.message for each in bound} == {f"run/1/{name}": text for name, text in said.items()}
    assert {each.found for each in bound} <= {"a link", "no file"}
