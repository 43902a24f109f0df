"""Older versions of Orbax, each with the jax and flax of its day, from the package index: what they save is read as
what the installed one saves is."""

from __future__ import annotations

import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Checkpoint
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

CHILD = Path(__file__).with_name("orbax_child.py")
VERSIONS = {
    "0.6.4": ("jax==0.4.35", "jaxlib==0.4.35", "flax==0.10.2", "optax==0.2.4"),
    "0.11.0": ("jax==0.5.0", "jaxlib==0.5.0", "flax==0.10.4", "optax==0.2.4"),
    "0.11.25": ("jax==0.7.2", "jaxlib==0.7.2", "flax==0.12.0", "optax==0.2.6"),
}


def _leaves(checkpoint: Checkpoint) -> dict[str, tuple[object, ...]]:
    return {path: (leaf.kind, leaf.shape, leaf.dtype) for path, leaf in checkpoint.leaves.items()}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_older_version_saved(made: Path, tmp_path: Path, version: str) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv/bin/python")
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
    got = subprocess.run([*install, f"orbax-checkpoint=={version}", *VERSIONS[version]], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr[-2000:]
    out = tmp_path / "made"
    out.mkdir()
    done = subprocess.run([python, str(CHILD), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for name in ("ocdbt", "zarr", "zarr3", "ocdbt3", "run"):
        checkpoint = read_checkpoint(out / name)
        assert _leaves(checkpoint) == _leaves(read_checkpoint(made / name)), name
        found = judge_checkpoint(CheckpointEvidence(checkpoint))
        assert [each for each in found if each.severity != "info"] == [], name
    embed = read_checkpoint(out / "zarr").arrays["params/embed"].placed
    assert embed is not None and (dict(embed.mesh), embed.spec) == ({"data": 2, "fsdp": 4}, (("data",), ("fsdp",)))
    (out / "zarr/params.embed/1.2").unlink()
    (damaged,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(out / "zarr")))
    assert damaged.code == "CKP609" and "params/embed" in damaged.message
    shutil.rmtree(tmp_path / "venv")
