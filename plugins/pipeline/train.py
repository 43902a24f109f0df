"""`train`: run the reference trainer of a contract on one target, in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.load import LoadedContract, load_contract
from ...contracts.record import section_digests
from ...runtime.folders import temporary_folder
from ...runtime.guarded import Guarded
from ...runtime.launch import child_environment
from ...runtime.request import KeptRequest, TrainRequest
from .targets import chosen_targets, note_options, require_jax

ENTRY = "contract_lint.runtime.trainer:build"
MODULE = "contract_lint.runtime.trainer"


def train(
    path: str | PathLike[str],
    *,
    target: str | None = None,
    steps: int,
    checkpoints: str | None = None,
    save_every: int | None = None,
    python: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Train until `steps` steps are finished; yield the metrics of each: `step`, `loss` (nats a token), `grad_norm`,
    `tokens`.

    `checkpoints`: the folder that the state is saved in every `save_every` steps (default: at the end alone), with the
    observations that the contract promises; what is committed there is taken up first, and told as `{"taken_up": N}`.
    At the end come `entropy` (of the synthetic language), `excess` (mean of the last tenth of losses above it) and
    `program` (the digest of the step as it was lowered).
    `say` is told which compiler options of this process are left out.
    Raises ContractLintError for a contract whose step is not the reference trainer, settings that do not fit, and a
    child that dies.
    """
    loaded = load_contract(Path(path)).readable()
    name = chosen_targets(loaded, () if target is None else (target,))[0]
    request = TrainRequest(
        target=name,
        axes=_axes(loaded, name),
        args=_arguments(loaded),
        steps=steps,
        kept=kept_request(loaded, checkpoints, save_every or steps),
    )
    require_jax(python)
    note_options(say, own_step=False)
    with temporary_folder() as folder, open(folder / "stderr", "w+", errors="replace") as stderr:
        streams = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
        try:
            child = Guarded(MODULE, [request.model_dump_json()], folder, child_environment(name), python, **streams)
        except OSError as error:
            raise ContractLintError(f"cannot start {python or sys.executable}: {error.strerror}") from None
        try:
            for line in child.process.stdout or ():
                yield json.loads(line)
            code = child.process.wait()
        finally:
            child.end()
        stderr.seek(0)
        said = stderr.read()
    if code != 0:
        last = said.strip().splitlines()[-1:] or [f"exit code {code}"]
        raise ContractLintError(f"the trainer stopped on {name}: {last[0]}", loaded.place("step"))


def _arguments(loaded: LoadedContract) -> dict[str, Any]:
    steps = loaded.contract.step if loaded.contract is not None else {}
    for section in steps.values():
        if section.entry == ENTRY:
            return section.args
    entries = ", ".join(section.entry for section in steps.values())
    raise ContractLintError(
        f"no step of this contract is the reference trainer: {entries}",
        loaded.place("step"),
        f"`train` runs `entry: {ENTRY}`; train your own step with your own loop",
    )


def kept_request(loaded: LoadedContract, folder: str | None, every: int) -> KeptRequest | None:
    """What the trainer is told of its checkpoints; None where it keeps none."""
    contract = loaded.contract
    if folder is None or contract is None:
        return None
    section = contract.checkpoint
    retention = section.retention if section is not None else None
    observations = section.observations if section is not None else None
    return KeptRequest(
        folder=str(Path(folder).absolute()),
        every=every,
        last=retention.last if retention is not None else None,
        keep=retention.every if retention is not None else None,
        contract=section_digests(loaded.document.data),
        observations=observations.model_dump(mode="json") if observations is not None else None,
    )


def _axes(loaded: LoadedContract, target: str) -> dict[str, int]:
    mesh = loaded.contract.mesh_for(target) if loaded.contract is not None else None
    if mesh is None:
        raise ContractLintError("the contract has no mesh", loaded.place("mesh"), "add `mesh: { axes: { data: 8 } }`")
    return mesh.axes
