"""`train`: run the reference trainer of a contract on one target, in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from os import PathLike
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.key import format_key
from ...contracts.load import LoadedContract, load_contract
from ...contracts.promised_arguments import promised_arguments
from ...contracts.record import section_digests
from ...linters.checkpoint.folder import Folder
from ...linters.checkpoint.steps import steps_in
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
) -> Generator[dict[str, Any], None, None]:
    """Train until `steps` steps are finished; yield the metrics of each: `step` (how many are finished), `loss` (nats a
    token), `grad_norm`, `tokens`.

    `checkpoints`: the folder that the state is saved in every `save_every` steps (default: at the end alone), with the
    observations that the contract promises; what is committed there is taken up first, and told as `{"taken_up": N}`.
    At the end come `entropy` (of the synthetic language), `excess` (mean of the last tenth of losses above it) and
    `program` (the digest of the step as it was lowered).
    `say` is told which compiler options of this process are left out.
    Raises ContractLintError for a contract whose step is not the reference trainer, settings that do not fit, a step
    that is built with another value than the contract promises of an `arg`, a disk that takes no more, and
    a child that dies.
    """
    loaded = load_contract(Path(path)).readable()
    name = chosen_targets(loaded, () if target is None else (target,))[0]
    request = TrainRequest(
        target=name,
        axes=_axes(loaded, name),
        args=_arguments(loaded),
        promised={
            format_key(each.key): (each.argument, each.value) for each in promised_arguments(loaded.document.data)
        },
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
        failed: str | None = None
        help: str | None = None
        begun = False
        try:
            for line in child.process.stdout or ():
                row = json.loads(line)
                if "failed" in row:
                    failed, help = row["failed"], row["help"]
                else:
                    begun = True
                    yield row
            code = child.process.wait()
        finally:
            child.end()
        stderr.seek(0)
        said = stderr.read()
    if code != 0:
        why = failed or next(iter(said.strip().splitlines()[-1:]), f"exit code {code}")
        if checkpoints is not None:
            why = why.replace(str(Path(checkpoints).absolute()), checkpoints)
            why += f"; {committed(checkpoints)}" if begun else ""
        raise ContractLintError(f"the trainer stopped on {name}: {why}", loaded.place("step"), help)


def committed(folder: str) -> str:
    """Which step a run in this folder is taken up from, as part of a sentence."""
    root = Folder(Path(folder), folder)
    try:
        found = steps_in(root, root.listed()) if root.path.is_dir() else []
    except ContractLintError as error:
        return f"which step of {folder} is committed cannot be told: {error.message}"
    last = max((each.number for each in found if each.state == "committed" and each.number is not None), default=None)
    return (
        f"the last committed step of {folder} is {last:,}" if last is not None else f"no step of {folder} is committed"
    )


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
