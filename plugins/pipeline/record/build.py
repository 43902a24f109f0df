"""From what was gathered to a record: pure, the same parts always give the same record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import ValidationError

from .... import __version__
from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.load import LoadedContract
from ....contracts.record import (
    FORMS,
    Author,
    CheckpointState,
    ContractState,
    DataState,
    DeviceState,
    Environment,
    FileDigest,
    Kind,
    Metric,
    ProgramState,
    Record,
    SourceState,
    StepRange,
    VerdictState,
    canonical,
    lock_digest,
    plain,
    section_digests,
    sha256,
    summarised,
)
from ....contracts.record_file import parse_record
from ....contracts.target_name import parse_target
from ....contracts.unfit import unfit
from ....hlo_tools.capture import Capture
from ....hlo_tools.program_digest import program_digest
from ....runtime.targets.cpu import cpu_flags
from ..report import Report


def build(
    loaded: LoadedContract,
    *,
    kind: Kind,
    created: datetime,
    contract_path: str,
    files: Iterable[FileDigest],
    environment: Environment,
    source: SourceState,
    author: Author | None = None,
    captures: Sequence[tuple[Capture, str | None]] = (),
    devices: Sequence[DeviceState] = (),
    lowered: Mapping[tuple[str, str], str] | None = None,
    steps: StepRange | None = None,
    checkpoints: Sequence[CheckpointState] = (),
    data: Sequence[DataState] = (),
    metrics: Mapping[str, Metric] | None = None,
    verdicts: Sequence[VerdictState] = (),
    conclusion: str | None = None,
) -> Record:
    """The record. `created` is in UTC; `captures` come with the folder where they are bound too, `lowered` are the
    digests of programs that were not captured, by target and step.

    Raises ContractLintError where something in it cannot be written down.
    """
    config = plain(loaded.document.data)
    name = loaded.contract.name if loaded.contract is not None else contract_path
    by_path = {file.path: file for file in files}
    try:
        record = Record(
            files=[by_path[path] for path in sorted(by_path)],
            tool=__version__,
            kind=kind,
            name=name[:500],
            created=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            author=author,
            source=source,
            contract=ContractState(
                path=contract_path,
                name=name[:500],
                digest=sha256(canonical(config)),
                sections=section_digests(config),
            ),
            config=config,
            environment=environment,
            devices=[*(device_of(capture) for capture, _ in captures), *devices],
            programs=[
                *(program for capture, folder in captures for program in programs(capture, folder)),
                *(
                    ProgramState(
                        target=target, step=step, sha256=digest, contract_digest=loaded.digest, level="lowered"
                    )
                    for (target, step), digest in (lowered or {}).items()
                ),
            ],
            steps=steps,
            checkpoints=list(checkpoints),
            data=list(data),
            metrics=dict(metrics or {}),
            verdicts=list(verdicts),
            conclusion=conclusion,
        )
        parse_record(record.as_text().encode(), record.file_name)
    except (ValueError, ContractLintError) as error:
        said = error.message if isinstance(error, ContractLintError) else str(error)
        said = unfit(error, (), FORMS) if isinstance(error, ValidationError) else said[:300]
        raise ContractLintError(f"cannot be put into a record: {said}", Location(loaded.path)) from error
    return record


def environment_of(python: str, platform: str, packages: Mapping[str, str]) -> Environment:
    """The environment with its digest."""
    return Environment(python=python, platform=platform, lock=lock_digest(packages), packages=dict(packages))


def programs(capture: Capture, folder: str | None = None) -> Iterable[ProgramState]:
    """Each step of a capture; a step that was not compiled has no digest."""
    said = capture.manifest.provenance
    for step in capture.steps.values():
        text = step.optimized_text
        yield ProgramState(
            target=said.target,
            step=step.name,
            sha256=program_digest(text) if text is not None else None,
            contract_digest=said.contract_digest,
            capture=folder,
        )


def verdict_of(report: Report) -> VerdictState:
    """What a report says, in the words of its formats."""
    from ...report.verdict import headline

    return VerdictState(
        verb=report.verb,
        verdict="fail" if report.failing() else "incomplete" if report.not_checked else "pass",
        headline=headline(report)[:20_000],
        targets=list(report.targets),
        summary=report.summary(),
        findings=[f"{root.finding.code} {root.finding.fingerprint}" for root in report.new_roots()],
    )


def figures(report: Report) -> dict[str, Metric]:
    """What `verify` measured: memory that must fit, bytes sent, and of a run its losses and the worst ratio."""
    found: dict[str, Metric] = {}
    for table in report.tables:
        values: dict[str, list[float]] = {}
        if table.memory is not None:
            values["memory.need_bytes"] = [float(table.memory.need_bytes)]
        sent = [row.optimized_ring_bytes for row in table.collectives if row.optimized_ring_bytes is not None]
        if sent:
            values["collectives.ring_bytes"] = [float(sum(sent))]
        if table.run is not None:
            values["loss"] = list(table.run.losses)
            worst = table.run.worst
            values["run.worst_ratio"] = [worst] if worst is not None else []
        for name, each in values.items():
            if each:
                found[f"{name}[{table.target} {table.step}]"] = summarised(each)
    return found


def flags_of_run(target: str, packages: Mapping[str, str]) -> list[str]:
    """The flags that the trainer gives XLA on a target, with these packages. Raises ValueError for no target."""
    jaxlib = packages.get("jaxlib")
    return cpu_flags(jaxlib) if jaxlib is not None and parse_target(target).platform == "cpu" else []


def device_of(capture: Capture) -> DeviceState:
    """What a capture was made on."""
    manifest = capture.manifest
    return DeviceState(
        target=manifest.provenance.target,
        devices=manifest.devices,
        kind=manifest.device_kind,
        mesh=dict(manifest.mesh.axes) if manifest.mesh is not None else None,
        effort=manifest.provenance.effort,
        xla_flags=manifest.provenance.xla_flags,
    )
