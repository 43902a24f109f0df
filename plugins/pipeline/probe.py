"""`batch check --probe`: what a contract's step does with a real batch, seen in a child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.load import LoadedContract
from ...contracts.model import COUNTING
from ...contracts.probe import ProbeFacts
from ...linters.batch.batch import Batch
from ...linters.batch.changes import Change, changes, target_changes
from ...linters.batch.evidence import BatchEvidence
from ...linters.batch.read import write_batch
from ...runtime.contract import child_request
from ...runtime.folders import temporary_folder
from ...runtime.launch import DEFAULT_TIMEOUT, ask
from ...runtime.probe import ProbeReport, ProbeRequest
from ...runtime.request import ChildFailure
from ...runtime.targets import target as parse_target
from .targets import chosen_targets, require_jax

MODULE = "contract_lint.runtime.probe"


def probing(**options: Any) -> Callable[[BatchEvidence], ProbeFacts]:
    """`probed` for `check_batch`: with these options, of a batch and the contract that it is held to."""

    def run(evidence: BatchEvidence) -> ProbeFacts:
        assert evidence.loaded is not None
        return probed(evidence.batch, evidence.loaded, **options)

    return run


def probed(
    batch: Batch,
    loaded: LoadedContract,
    *,
    step: str | None = None,
    target: str | None = None,
    python: str | None = None,
    timeout: float | None = None,
    say: Callable[[str], None] | None = None,
) -> ProbeFacts:
    """Run one step of a contract (default: its first) on a batch, on a target that executes here (default: the first).

    Raises ContractLintError where there is no such step or target, and for whatever the step raises.
    """
    require_jax(python)
    names = chosen_targets(loaded, () if target is None else (target,))
    executing = [name for name in names if parse_target(name).executes]
    if not executing:
        said = f"none of the targets {', '.join(names)} can be executed here"
        raise ContractLintError(said, loaded.place("targets"), "name one that can: --target cpu:8")
    steps = list(loaded.contract.step) if loaded.contract is not None else []
    child = child_request(loaded, executing[0], [step or steps[0]])
    with temporary_folder() as folder:
        arrays = folder / "batch.npz"
        write_batch(arrays, batch.arrays)
        request = ProbeRequest(
            child=child,
            arrays=str(arrays),
            tokens=batch.roles.get("tokens"),
            mask=next((batch.roles[role] for role in COUNTING if role in batch.roles), None),
            targets=batch.roles.get("targets"),
            changes=_plain(changes(batch)),
            target_changes=_plain(target_changes(batch)),
        )
        said = ask(MODULE, request, child.target, on_progress=say, timeout=timeout or DEFAULT_TIMEOUT, python=python)
    made = ProbeReport(failure=said) if isinstance(said, ChildFailure) else ProbeReport.model_validate_json(said)
    if made.failure is not None:
        raise made.failure.as_error(loaded.place(tuple(made.failure.key)) if made.failure.key else None)
    assert made.facts is not None
    if made.facts.how is None and say is not None:
        say(
            f"the losses of step {made.facts.step} were not read: give it `token_losses`, or `loss_terms` and a "
            "floating loss mask in the batch"
        )
    return made.facts


def _plain(made: list[Change]) -> list[tuple[int, int, int]]:
    return [(change.row, change.column, change.token) for change in made]
