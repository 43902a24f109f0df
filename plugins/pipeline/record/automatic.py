"""The record that `verify` and `train` leave: whatever keeps it from being written is one line, and fails nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.load import LoadedContract, load_contract
from ....contracts.record import DeviceState, Environment, Kind, Metric, SourceState, StepRange, VerdictState
from ....contracts.target_name import parse_target
from ....hlo_tools.capture import Capture
from ....runtime.contract import project_root
from ..report import Report
from ..train import ENTRY
from .bound import Bound
from .build import build, figures, flags_of_run, verdict_of
from .create import bind_texts, environment, written
from .place import short, shown_path
from .source_state import git_author, source_state
from .verify import judged_new

OUTSIDE = "the checkpoint lies outside the project and is not bound to the record"


@dataclass
class Seen:
    """What a command works on; made when it begins, since `source` is what is checked out then."""

    path: str
    loaded: LoadedContract | None = None
    captures: Sequence[Capture] = field(default_factory=tuple)
    source: SourceState = field(init=False)

    def __post_init__(self) -> None:
        self.source = source_state(Path(os.path.abspath(self.path)).parent)

    def take(self, loaded: LoadedContract, captures: Sequence[Capture]) -> None:
        self.loaded, self.captures = loaded, captures


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that has begun: its contract, and what was checked out then."""

    loaded: LoadedContract
    source: SourceState


def begun(path: str) -> Begun:
    """A run of the contract at `path` that begins now. Raises ContractLintError where there is no such file."""
    source = source_state(Path(os.path.abspath(path)).parent)
    return Begun(load_contract(Path(path)), source)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a record goes, and which interpreter ran."""

    cache_dir: str | os.PathLike[str] | None = None
    python: str | None = None


def record_verdict(report: Report, seen: Seen, where: Where) -> str | None:
    """Write the record of a verdict; what to say of it. None where nothing was looked at."""
    if seen.loaded is None or not seen.captures:
        return None
    verdicts = [verdict_of(report)]
    (said,) = _said(
        seen.loaded, seen.source, "verify", where, seen.captures, metrics=figures(report), verdicts=verdicts
    )
    return said


def record_training(
    run: Begun,
    target: str | None,
    metrics: Mapping[str, Metric],
    where: Where,
    *,
    program: str | None = None,
    steps: StepRange | None = None,
    checkpoints: str | None = None,
) -> list[str]:
    """Write the record of a training run; the lines to say of it.

    `program`: the digest of the step that was lowered. `steps`: those of the run. `checkpoints`: the folder that was
    saved to; its newest step, and what was observed in `steps`, is bound where it lies in the project; a second
    line says that it does not.
    """
    contract = run.loaded.contract
    target = target or (contract.targets[0].target if contract is not None and contract.targets else "")
    mesh = contract.mesh_for(target) if contract is not None else None
    parsed = parse_target(target)

    def devices(environment: Environment) -> list[DeviceState]:
        flags = flags_of_run(target, environment.packages)
        axes = dict(mesh.axes) if mesh is not None else None
        return [DeviceState(target=target, devices=parsed.devices, kind=parsed.platform, mesh=axes, xla_flags=flags)]

    built = contract.step if contract is not None else {}
    name = next((name for name, section in built.items() if section.entry == ENTRY), "train")
    lowered = {(target, name): program} if program is not None else {}
    return _said(
        run.loaded,
        run.source,
        "train",
        where,
        (),
        metrics=metrics,
        devices=devices,
        lowered=lowered,
        steps=steps,
        checkpoints=checkpoints,
    )


def _said(
    loaded: LoadedContract,
    source: SourceState,
    kind: Kind,
    where: Where,
    captures: Sequence[Capture],
    *,
    metrics: Mapping[str, Metric],
    verdicts: Sequence[VerdictState] = (),
    devices: Callable[[Environment], Sequence[DeviceState]] = lambda _: (),
    lowered: Mapping[tuple[str, str], str] | None = None,
    steps: StepRange | None = None,
    checkpoints: str | None = None,
) -> list[str]:
    try:
        file = Path(os.path.abspath(loaded.document.source.path))
        if load_contract(file).digest != loaded.digest:
            said = "was changed while the command ran: nobody can say which of the two it ran with"
            raise ContractLintError(said, Location(loaded.path))
        root = project_root(file.resolve())
        bound = Bound(root)
        path = bound.file(file.resolve())
        bind_texts(bound, loaded)
        data = bound.promised(loaded)
        saved = []
        folder = Path(checkpoints).resolve() if checkpoints is not None else None
        outside = folder is not None and not folder.is_relative_to(root)
        if folder is not None and not outside:
            saved.append(bound.checkpoint(str(folder)))
            section = loaded.contract.checkpoint if loaded.contract is not None else None
            if steps is not None and section is not None and section.observations is not None:
                bound.observations(folder / section.observations.place, steps)
        installed = environment(where.python)
        record = build(
            loaded,
            kind=kind,
            created=datetime.now(UTC),
            contract_path=path,
            files=bound.files.values(),
            environment=installed,
            source=source,
            author=git_author(file.parent),
            captures=[(capture, None) for capture in captures],
            devices=devices(installed),
            lowered=lowered,
            steps=steps,
            checkpoints=saved,
            data=data,
            metrics=metrics,
            verdicts=verdicts,
        )
        kept = written(record, root, None, where.cache_dir, lambda _: None)
    except (ContractLintError, OSError) as error:
        return [f"no record was written: {str(error).splitlines()[0]}"]
    found = [f"{each.code} {each.name}" for each in judged_new(kept, record)]
    judged = f" ({', '.join(found)})" if found else ""
    return [f"record {short(record.digest)} in {shown_path(kept.parent)}{judged}", *([OUTSIDE] if outside else [])]
