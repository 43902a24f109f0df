"""A contract that `init` writes elsewhere names the folder of its module, so that it can be verified from anywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.init.module_path import module_path, relative

STEP = """
from types import SimpleNamespace
import jax
import jax.numpy as jnp

def build():
    return SimpleNamespace(fn=lambda x: x * 2.0, args=(jax.ShapeDtypeStruct((8,), jnp.float32),))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "package" / "inner").mkdir(parents=True)
    (folder / "contracts").mkdir()
    (folder / "step.py").write_text(STEP)
    (folder / "compiled.cpython-311-x86_64-linux-gnu.so").touch()
    return folder


def named(entry: str, out: Path, here: Path, *given: str) -> list[str]:
    return relative(module_path(entry, out, given, here), out)


@pytest.mark.parametrize("entry", ["step:build", "package.inner.train:build", "compiled:build"])
def test_the_working_folder_is_named_where_the_contract_lies_elsewhere(here: Path, entry: str) -> None:
    assert named(entry, here / "contracts" / "a.contract.yaml", here) == [".."]
    assert named(entry, here.parent / "a.contract.yaml", here) == ["project"]
    assert named(entry, here / "a.contract.yaml", here) == []


def test_a_module_that_is_not_there_names_nothing(here: Path) -> None:
    """It is installed, or `init` says that it cannot be imported."""
    assert named("optax:build", here / "contracts" / "a.contract.yaml", here) == []
    (here / "contract_lint").mkdir()
    assert named("contract_lint.runtime.trainer:build", here / "contracts" / "a.contract.yaml", here) == []


def test_a_module_beside_the_contract_is_found_there(here: Path) -> None:
    (here / "contracts" / "step.py").write_text(STEP)
    assert named("step:build", here / "contracts" / "a.contract.yaml", here) == []


def test_folders_that_are_given_are_noted_as_the_contract_sees_them(here: Path) -> None:
    assert named("step:build", here / "contracts" / "a.contract.yaml", here, "package", ".") == ["../package", ".."]
    (here.parent / "link").symlink_to(here / "package" / "inner")
    assert named("step:build", here.parent / "link" / "a.contract.yaml", here, ".") == ["../.."]


@pytest.mark.slow
def test_it_verifies_unchanged_from_another_folder(here: Path) -> None:
    elsewhere = here.parent / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "contract_lint"]
    options = ["--target", "cpu:1", "--no-run", "-o", "../elsewhere/x.contract.yaml"]
    made = subprocess.run([*command, "init", "step:build", *options], cwd=here, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    verify = [*command, "verify", "x.contract.yaml", "--no-cache"]
    done = subprocess.run(verify, cwd=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
