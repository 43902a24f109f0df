"""`batch replay` and `batch progress`: whether positions in data are whole, of the same data, and give the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding, Location
from ...contracts.load import LoadedContract, load_contract
from ...contracts.progress import Progress, read_progress
from ...contracts.promised_manifest import promised_manifest
from ...linters.data.evidence import DataEvidence, Replayed
from ...linters.data.judge import judge_data
from ...runtime.contract import project_root
from ...runtime.data.replay import TARGET, ReplayReport, ReplayRequest
from ...runtime.launch import DEFAULT_TIMEOUT, ask
from ...runtime.request import ChildFailure
from .report import FailOn, Report, report
from .selection import require_known, selected
from .targets import require_jax

MODULE = "contract_lint.runtime.data.replay"
_NO_PROOF = {"DAT711", "DAT714"}
"""Records of other data, and records that leave out what they are places in."""
LOADER_HELP = "name the function that opens your data: --loader my_pkg.data:open, or data.loader in a contract"


def replay(
    first: str,
    second: str,
    *,
    loader: str | None = None,
    contract: str | None = None,
    batches: int = 3,
    python: str | None = None,
    timeout: float | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    say: Callable[[str], None] | None = None,
) -> Report:
    """Findings on two positions: the last record of each file.

    Where they are of other data, or do not say of which, nothing is opened: what they give would prove nothing.
    Raises ContractLintError for wrong usage, unreadable input, and whatever the loader raises.
    """
    require_known([*select, *ignore])
    loaded = readable(contract)
    positions = (read_progress(first)[-1], read_progress(second)[-1])
    manifest = promised_manifest(loaded) if loaded is not None else None
    evidence = DataEvidence(positions=positions, loaded=loaded, manifest=manifest)
    found = judge_data(evidence)
    if not any(finding.code in _NO_PROOF for finding in found):
        replayed = _replayed(_request(loaded, loader, positions, batches), loaded, python, timeout, say)
        evidence = replace(evidence, replayed=replayed)
        found = judge_data(evidence)
    read = len(evidence.replayed.batches[0]) if evidence.replayed is not None else 0
    proof = f"{read} batch{'es' * (read != 1)} from each, the same by sha256" if read else None
    return _reported(found, "batch replay", f"{first} and {second}", loaded, select, ignore, fail_on, proof)


def check_progress(
    files: Sequence[str],
    *,
    contract: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
) -> Report:
    """Findings on the records of one run for each file. Raises ContractLintError for what cannot be read."""
    require_known([*select, *ignore])
    loaded = readable(contract)
    histories = [read_progress(file) for file in files]
    manifest = promised_manifest(loaded) if loaded is not None else None
    found = [
        each
        for history in histories
        for each in judge_data(DataEvidence(history=history, loaded=loaded, manifest=manifest))
    ]
    count = sum(map(len, histories))
    proof = f"{count:,} record{'s' * (count != 1)} looked at"
    subject = files[0] if len(files) == 1 else f"{len(files)} files"
    return _reported(found, "batch progress", subject, loaded, select, ignore, fail_on, proof)


def readable(contract: str | None) -> LoadedContract | None:
    """A contract without errors, None where none is named. Raises ContractLintError for one with errors."""
    if contract is None:
        return None
    loaded = load_contract(contract).readable()
    if loaded.contract is None:
        said = f"has {len(loaded.findings)} error{'s' * (len(loaded.findings) != 1)}; nothing can be held to it"
        raise ContractLintError(said, Location(loaded.path), f"see them with: contract-lint check {loaded.path}")
    return loaded


def _request(
    loaded: LoadedContract | None, loader: str | None, positions: tuple[Progress, Progress], batches: int
) -> ReplayRequest:
    data = loaded.contract.data if loaded is not None and loaded.contract is not None else None
    section = data.loader if data is not None else None
    here = Path.cwd()
    cursors = [record.fields.get("cursor") for record in positions]
    if loader is not None:
        if ":" not in loader:
            raise ContractLintError(f"--loader {loader}: expected module:function", help=LOADER_HELP)
        args = section.args if section is not None and section.entry == loader else {}
        return ReplayRequest(
            entry=loader, path=[str(here)], args=args, cursors=cursors, batches=batches, project_root=str(here)
        )
    if section is None or loaded is None:
        raise ContractLintError("nothing says what opens the data", help=LOADER_HELP)
    file = Path(loaded.document.source.path).resolve()
    root = project_root(file)
    folder = Path(loaded.document.folder(("data", "loader", "path"))).resolve()
    return ReplayRequest(
        entry=section.entry,
        path=[os.path.normpath(folder / each) for each in section.path],
        fallback_path=[] if section.path else [str(file.parent), str(root)],
        args=section.args,
        cursors=cursors,
        batches=batches,
        project_root=str(root),
    )


def _replayed(
    request: ReplayRequest,
    loaded: LoadedContract | None,
    python: str | None,
    timeout: float | None,
    say: Callable[[str], None] | None,
) -> Replayed:
    require_jax(python)
    said = ask(MODULE, request, TARGET, on_progress=say, timeout=timeout or DEFAULT_TIMEOUT, python=python)
    made = ReplayReport(failure=said) if isinstance(said, ChildFailure) else ReplayReport.model_validate_json(said)
    if made.failure is not None:
        key = tuple(made.failure.key)
        raise made.failure.as_error(loaded.place(key) if loaded is not None and key else None)
    first, second = (tuple(digests) for digests in made.digests)
    refused = (made.refused[0], made.refused[1])
    return Replayed((first, second), refused, tuple(made.pipeline), tuple(made.iterator))


def _reported(
    found: Sequence[Finding],
    verb: str,
    subject: str,
    loaded: LoadedContract | None,
    select: Sequence[str],
    ignore: Sequence[str],
    fail_on: FailOn,
    proof: str | None,
) -> Report:
    contracts = (loaded.path,) if loaded is not None else ()
    kept = selected(found, select, ignore)
    return report(kept, verb=verb, subject=subject, contracts=contracts, fail_on=fail_on, proof=proof)
