"""A compiler in a child process, and contracts for the steps it compiles."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.model import Contract

TARGET = "cpu:8"


@dataclass(frozen=True)
class Program:
    """What XLA made of one step."""

    partitioned: str
    optimized: str
    argument_bytes: int


@pytest.fixture(scope="session")
def compile_step(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[dict[str, int], dict[str, Any]], Program]]:
    """compile_step(mesh axes, build arguments) -> Program, in a child process that lives as long as the session."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("compiled")
    log = (folder / "stderr.txt").open("w")
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("compile_child.py")), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        bufsize=1,
    )
    assert child.stdin and child.stdout
    requests, answers = child.stdin, child.stdout

    def compile_one(axes: dict[str, int], build: dict[str, Any]) -> Program:
        requests.write(json.dumps({"axes": axes, "build": build}) + "\n")
        requests.flush()
        line = answers.readline()
        if not line:
            pytest.fail(f"the compiler died: {(folder / 'stderr.txt').read_text()[-2000:]}")
        reply = json.loads(line)
        if "error" in reply:
            pytest.fail(f"no program for {axes} {build}:\n{reply['error']}")
        files = Path(reply["partitioned"]), Path(reply["optimized"])
        program = Program(files[0].read_text(), files[1].read_text(), reply["argument_bytes"])
        for file in files:
            file.unlink()
        return program

    yield compile_one
    requests.close()
    child.wait(timeout=60)
    log.close()


SMALL: dict[str, Any] = {
    "layers": 2,
    "d_model": 16,
    "heads": 4,
    "kv_heads": 2,
    "d_ff": 32,
    "vocab": 64,
    "sequence": 8,
    "mlp": "gated",
    "tied": False,
    "remat": "full",
}


def contract_of(
    axes: dict[str, int],
    model: dict[str, Any] | None = None,
    *,
    batch: int = 16,
    batch_axes: list[str] | None = None,
    microbatches: int = 2,
    logical: dict[str, Any] | None = None,
    placement: list[str] | str = "parameters",
    optimizer: str = "adamw",
    compute: str = "bfloat16",
    schedule: bool = False,
    **sections: Any,
) -> Contract:
    """A contract of the reference trainer; `sections` replace or (None) remove whole sections. As in the trainer, all
    is float64 where `compute` is."""
    master = "float64" if compute == "float64" else "float32"
    data: dict[str, Any] = {
        "contract": 1,
        "name": "test",
        "step": {"train": {"entry": "contract_lint.runtime.trainer:build"}},
        "targets": [TARGET],
        "mesh": {"axes": axes},
        "model": {"kind": "dense", **SMALL, **(model or {})},
        "dtypes": {"master": master, "compute": compute, "moments": master},
        "accumulation": {"microbatches": microbatches},
        "batch": {"size": batch, "axes": batch_axes or []},
        "optimizer": {"name": optimizer, "placement": placement, "schedule": schedule},
        "parameters": {"logical_axes": logical or {}},
    }
    data |= sections
    return Contract.model_validate({key: value for key, value in data.items() if value is not None})


@pytest.fixture(scope="session")
def make_contract() -> Callable[..., Contract]:
    return contract_of
