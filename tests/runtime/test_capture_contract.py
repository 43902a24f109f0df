"""From a contract file to a capture folder: cache, output folder, places of failures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.load import LoadedContract, load_contract
from contract_lint.runtime.contract import capture_contract, project_root

STEP = """
import json
import pathlib
import types
import jax
import jax.numpy as jnp

def build(factor=2.0):
    settings = json.loads((pathlib.Path(__file__).parent / "settings.json").read_text())
    x = jax.ShapeDtypeStruct((settings["size"],), jnp.float32)
    return types.SimpleNamespace(fn=lambda x: x * factor, args=(x,))
"""
CONTRACT = """contract: 1
name: tiny
step:
  train:
    entry: my_step:build
    path: [src]
targets: [cpu:1]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "my_step.py").write_text(STEP)
    (tmp_path / "src" / "settings.json").write_text('{"size": 4}')
    (tmp_path / "tiny.contract.yaml").write_text(CONTRACT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(project: Path) -> LoadedContract:
    found = load_contract(project / "tiny.contract.yaml")
    assert found.contract is not None, found.findings
    return found


def shape_of(capture: Path) -> list[int]:
    return json.loads((capture / "train" / "facts.json").read_text())["arguments"][0]["shape"]


def test_cache_follows_code_and_data(project: Path) -> None:
    lines: list[str] = []
    first = capture_contract(loaded(project), "cpu:1", on_progress=lines.append)
    assert shape_of(first) == [4] and "train: compile" in lines
    lines.clear()
    assert capture_contract(loaded(project), "cpu:1", on_progress=lines.append) == first
    assert lines == ["unchanged since the last capture for cpu:1"]
    (project / "src" / "settings.json").write_text('{"size": 8}')
    changed = capture_contract(loaded(project), "cpu:1")
    assert shape_of(changed) == [8] and changed != first
    (project / "src" / "settings.json").write_text('{"size": 4}')
    assert capture_contract(loaded(project), "cpu:1") == first
    assert (project / ".contract-lint" / ".gitignore").read_text() == "*\n"


def test_same_step_gives_the_same_bytes(project: Path) -> None:
    one = capture_contract(loaded(project), "cpu:1", out=project / "one", cache=False)
    two = capture_contract(loaded(project), "cpu:1", out=project / "two", cache=False)
    names = sorted(p.relative_to(one).as_posix() for p in one.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(two).as_posix() for p in two.rglob("*") if p.is_file())
    for name in names:
        if name not in ("manifest.json", "train/facts.json"):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name
    facts = [json.loads((folder / "train" / "facts.json").read_text()) | {"seconds": {}} for folder in (one, two)]
    assert facts[0] == facts[1]


def test_output_folder_is_replaced_only_if_it_is_a_capture(project: Path) -> None:
    out = project / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(ContractLintError, match="not a capture"):
        capture_contract(loaded(project), "cpu:1", out=out)
    assert (out / "thesis.txt").read_text() == "mine"
    shutil.rmtree(out)
    assert capture_contract(loaded(project), "cpu:1", out=out) == out
    assert capture_contract(loaded(project), "cpu:1", out=out) == out
    assert (out / "manifest.json").is_file()


def test_failures_point_at_the_contracts_key(project: Path) -> None:
    (project / "tiny.contract.yaml").write_text(CONTRACT.replace("my_step:build", "my_step:biuld"))
    with pytest.raises(ContractLintError) as caught:
        capture_contract(loaded(project), "cpu:1")
    assert str(caught.value).startswith("tiny.contract.yaml:5:5: the module `my_step` has no attribute `biuld`")
    assert not list((project / ".contract-lint" / "cache").glob("run-*"))


def test_unknown_step_and_target(project: Path) -> None:
    with pytest.raises(ContractLintError, match="no step `evaluate`"):
        capture_contract(loaded(project), "cpu:1", ["evaluate"])
    with pytest.raises(ContractLintError, match="unknown target `npu:1`"):
        capture_contract(loaded(project), "npu:1")


def test_project_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg" / "deep").mkdir(parents=True)
    (tmp_path / "pkg" / "pyproject.toml").touch()
    file = tmp_path / "pkg" / "deep" / "x.contract.yaml"
    monkeypatch.chdir(tmp_path)
    assert project_root(file) == tmp_path
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert project_root(file) == tmp_path / "pkg"


def test_an_interrupt_leaves_nothing_half_done(project: Path) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture_contract(loaded(project), "cpu:1", out=project / "out", on_progress=interrupt)
    assert not (project / "out").exists()
    assert list((project / ".contract-lint" / "cache").iterdir()) == []
