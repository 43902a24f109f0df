"""Evidence that says of which contract it is: one of another is found as a record is made, and as it is verified."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.record import section_digests

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Found = dict[str, Any]


@pytest.fixture
def digests(tmp_path: Path, contract_text: str) -> Mapping[str, Mapping[str, str]]:
    """Two contracts that differ in their mesh, and a third with another step: digests of sections by file."""
    texts = {
        "a.contract.yaml": contract_text,
        "mesh.contract.yaml": contract_text.replace("data: 2, fsdp: 4", "data: 4, fsdp: 2"),
        "b.contract.yaml": contract_text.replace("train:build", "other:build"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}rng: {{ root: {{ seed: 0 }} }}\n")
    (tmp_path / "m.jsonl").write_text('{"loss": 1}\n')
    loaded = {name: load_contract(tmp_path / name) for name in texts}
    return {name: {"": each.digest, **section_digests(each.document.data)} for name, each in loaded.items()}


def saved(folder: Path, item: object) -> None:
    """A checkpoint with what it says of its contract."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    (folder / "1/contract").mkdir(parents=True)
    (folder / "1/a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    (folder / "1/contract/metadata").write_text(json.dumps(item))


def both(cli: Run, *bound: str) -> list[Found]:
    """What is found when a record is made, and the same again when it is verified."""
    made = cli("record", "create", "a.contract.yaml", "--metrics", "m.jsonl", *bound, "--format", "json")
    done = cli("record", "verify", "latest", "--format", "json")
    found = [[each for each in json.loads(run.stdout)["findings"] if each["code"] != "EXP608"] for run in (made, done)]
    assert found[0] == found[1] and made.returncode == done.returncode == bool(found[0]), (made, done)
    return found[0]


def test_a_checkpoint_is_of_the_contract_that_it_was_saved_under(
    cli: Run, tmp_path: Path, digests: Mapping[str, Mapping[str, str]]
) -> None:
    for name, sections in digests.items():
        saved(tmp_path / name[0], {key: each for key, each in sections.items() if key})
    saved(tmp_path / "silent", {"layers": 2, "name": "small"})
    saved(tmp_path / "list", [1])
    for folder in ("a", "m", "silent", "list"):
        assert both(cli, "--checkpoint", folder) == [], folder
    (found,) = both(cli, "--checkpoint", "b")
    assert (found["code"], found["path"]) == ("EXP615", "b/1/contract/metadata")
    assert found["message"] == "this checkpoint is of another contract than a.contract.yaml: step differs"
    a, b = (digests[f"{name}.contract.yaml"]["step"] for name in "ab")
    assert (found["expected"], found["found"]) == (f"step {a}", f"step {b}")


def test_a_report_is_of_the_contract_that_it_names(
    cli: Run, tmp_path: Path, digests: Mapping[str, Mapping[str, str]]
) -> None:
    for name in "ab":
        cli("check", f"{name}.contract.yaml", "--format", "json", "--output", f"{name}.json")
    assert both(cli, "--report", "a.json") == []
    (found,) = both(cli, "--report", "b.json")
    assert (found["code"], found["path"], found["expected"], found["found"]) == (
        *("EXP615", "b.json"),
        *("a.contract.yaml", "b.contract.yaml"),
    )
    report = json.loads((tmp_path / "a.json").read_text())
    for name in "ab":
        digest = digests[f"{name}.contract.yaml"][""]
        report["provenance"]["captures"] = [{"contract_digest": digest}]
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    assert both(cli, "--report", "a.json") == []
    (found,) = both(cli, "--report", "b.json")
    assert found["expected"] == f"a.contract.yaml {digests['a.contract.yaml']['']}"
    assert found["found"] == f"a.contract.yaml {digest}"
    for silent in ({"contracts": [], "captures": []}, {"captures": [{}]}, None):
        (tmp_path / "a.json").write_text(json.dumps({**report, "provenance": silent}))
        assert both(cli, "--report", "a.json") == []
