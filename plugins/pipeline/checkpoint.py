"""`checkpoint check` and `checkpoint digests`: a saved state alone, or held to `checkpoint` of a contract."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from ...contracts.data_manifest import DataFile, DataManifest, read_manifest
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract, load_contract
from ...contracts.model import CheckpointSection
from ...linters.checkpoint.evidence import CheckpointEvidence, Digests
from ...linters.checkpoint.facts import Checkpoint
from ...linters.checkpoint.judge import judge_checkpoint
from ...linters.checkpoint.observations import Observations, read_observations
from ...linters.checkpoint.read import find_step, read_checkpoint
from ...linters.checkpoint.summary import summary_of
from ...linters.data.tree import build_manifest
from .report import FailOn, Report, report
from .selection import require_known, selected

VERB = "checkpoint check"
Told = Callable[[str], None]


def check_checkpoint(
    path: str,
    *,
    step: int | None = None,
    contract: str | None = None,
    digests: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    on_progress: Told | None = None,
) -> Report:
    """Findings on one checkpoint. Without `digests` no content is read, and the verdict says so.

    Raises ContractLintError for a checkpoint, contract or list of digests that cannot be read, and an unknown rule.
    """
    require_known([*select, *ignore])
    loaded = _contract(contract) if contract is not None else None
    section = loaded.contract.checkpoint if loaded is not None and loaded.contract is not None else None
    checkpoint = read_checkpoint(path, step=step, commit=section.commit if section is not None else "rename")
    compared = None
    if digests is not None:
        compared = Digests(digests, read_manifest(digests), _digests(checkpoint.place, [Path(digests)], on_progress))
    evidence = CheckpointEvidence(checkpoint, loaded, compared, _observed(checkpoint, section))
    summary = summary_of(evidence)
    return report(
        selected(judge_checkpoint(evidence), select, ignore),
        verb=VERB,
        subject=checkpoint.path,
        contracts=(loaded.path,) if loaded is not None else (),
        fail_on=fail_on,
        checkpoint=summary,
        proof=summary.said,
        proven_with_warnings=True,
    )


def digests_of(path: str, step: int | None, output: str | None, on_progress: Told | None = None) -> DataManifest:
    """The digests of every file of a step, whatever they hold. Raises ContractLintError for a step that is not there or
    not committed, and for what `read_checkpoint` does not open."""
    root, found, steps = find_step(path, step=step)
    if found.state != "committed":
        said = f"{found.folder} is not committed: {found.why}"
        raise ContractLintError(said, Location(root.shown), "digests are of what is complete")
    folder = root.below(found.folder) if steps else root
    if not folder.path.is_file():
        folder.files()  # links, pipes and holes are refused
    return _digests(Path(folder.shown), [Path(output)] if output else [], on_progress)


def _digests(folder: Path, without: Sequence[Path], on_progress: Told | None) -> DataManifest:
    if folder.is_file():
        if on_progress is not None:
            on_progress(f"reading {folder.name}")
        return DataManifest((_file_digest(folder),), None)
    return build_manifest(folder, lenient=True, without=without, on_progress=on_progress)


def _file_digest(path: Path) -> DataFile:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return DataFile(path.name, "shard", file.tell(), f"sha256:{digest}")
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(path.as_posix())) from error


def _observed(checkpoint: Checkpoint, section: CheckpointSection | None) -> Observations | None:
    """What the run left beside its steps, where that is promised and a folder of steps was named."""
    if section is None or section.observations is None or not checkpoint.steps:
        return None
    return read_observations(checkpoint.path, section.observations.place)


def _contract(path: str) -> LoadedContract:
    loaded = load_contract(path).readable()
    if loaded.contract is None:
        first, more = loaded.findings[0], len(loaded.findings) - 1
        also = f", and {more} more error{'s' * (more != 1)}" if more else ""
        said = f"nothing can be held to this contract: {first.message}{also}"
        raise ContractLintError(said, first.location or Location(loaded.path), first.help)
    if loaded.contract.checkpoint is None:
        said = "has no section `checkpoint`, so it promises nothing of one"
        help = "write one (`checkpoint: {}` will do), or leave --contract out: see docs/checkpoints.md"
        raise ContractLintError(said, Location(loaded.path), help)
    return loaded
