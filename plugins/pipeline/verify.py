"""`verify`: the main job. Contract -> captures -> evidence -> findings and tables -> report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding, Location
from ...contracts.load import LoadedContract, load_contract
from ...hlo_tools.capture import Capture, read_capture
from ...linters.evidence import StepEvidence
from ...linters.judge import judge
from .check import static_findings
from .report import FailOn, Report, report, selected
from .resolved import resolved_rows
from .tables import StepTables
from .tabulate import tabulate

Say = Callable[[str], None]
MANIFEST = "manifest.json"


def verify(
    path: str | PathLike[str],
    *,
    targets: Sequence[str] = (),
    capture_dir: str | PathLike[str] | None = None,
    run: bool = False,
    steps: int | None = None,
    cache: bool = True,
    python: str | None = None,
    timeout: float | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fail_on: FailOn = "error",
    say: Say | None = None,
) -> Report:
    """Judge the contract at `path` on `targets` (default: all it names).

    With `capture_dir` (one capture, or a folder with one for each target) nothing is run and jax is not needed; else
    each target is captured in a child process, where `run` executes `steps` steps too. `say` is told what begins.
    Raises ContractLintError for wrong usage, unreadable input, an unknown target, or a step that cannot be built.
    """
    tell: Say = say or (lambda _: None)
    loaded = load_contract(Path(path)).readable()
    static = static_findings(loaded)
    if loaded.contract is None:
        return _reported(loaded, static, [], (), select, ignore, fail_on)
    try:
        if capture_dir is not None:
            captures = read_captures(Path(capture_dir), targets, tell)
            _note_age(loaded, captures, tell)
        else:
            from .capture import capture_targets

            captures = capture_targets(
                loaded, targets, run=run, steps=steps, cache=cache, python=python, timeout=timeout, say=tell
            )
    except ContractLintError as error:
        if not any(finding.severity == "error" for finding in static):
            raise
        tell(f"not captured, see the findings on the contract first: {error.message}")
        return _reported(loaded, static, [], (), select, ignore, fail_on)
    if run:
        _require_run(captures, tell)
    tell("judging")
    findings = [*loaded.findings, *judge(loaded, captures, run)]
    tables = [
        tabulate(StepEvidence(loaded, capture, step, run_requested=run))
        for capture in captures
        for step in capture.steps.values()
    ]
    return _reported(loaded, findings, captures, tables, select, ignore, fail_on)


def read_captures(folder: Path, targets: Sequence[str], say: Say) -> list[Capture]:
    """The capture in `folder`, or those right below it, ordered by target; only `targets` where any are named.

    Raises ContractLintError where there is none, where a target has none, or where one target has two.
    """
    found = [folder] if (folder / MANIFEST).is_file() or not folder.is_dir() else _below(folder)
    captures = sorted(map(read_capture, found or [folder]), key=_target)
    names = [_target(capture) for capture in captures]
    place = Location(folder.as_posix())
    for name in names:
        if names.count(name) > 1:
            raise ContractLintError(f"holds more than one capture for {name}", place, "name the folder of one of them")
    for target in targets:
        if target not in names:
            raise ContractLintError(f"holds no capture for {target}, only for {', '.join(names)}", place)
    say(f"read {len(captures)} capture{'s' * (len(captures) != 1)} from {folder.as_posix()}")
    return [capture for capture in captures if not targets or _target(capture) in targets]


def _below(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if (child / MANIFEST).is_file())


def _target(capture: Capture) -> str:
    return capture.manifest.provenance.target


def _note_age(loaded: LoadedContract, captures: Iterable[Capture], say: Say) -> None:
    for capture in captures:
        if capture.manifest.provenance.contract_digest != loaded.digest:
            say(f"the capture for {_target(capture)} was made from another version of the contract")


def _require_run(captures: Sequence[Capture], say: Say) -> None:
    """`--run` on captures in which nothing ran would pass for lack of evidence."""
    ran = {_target(c): any(s.run is not None or s.facts.error is not None for s in c.steps.values()) for c in captures}
    if not any(ran.values()):
        raise ContractLintError(
            f"--run: no step was executed for {', '.join(ran)}",
            help="capture with `contract-lint capture --run`, on a target that can execute",
        )
    for target in (target for target, done in ran.items() if not done):
        say(f"{target}: not executed, so nothing that --run promises was judged there")


def _reported(
    loaded: LoadedContract,
    findings: Iterable[Finding],
    captures: Sequence[Capture],
    tables: Sequence[StepTables],
    select: Iterable[str],
    ignore: Iterable[str],
    fail_on: FailOn,
) -> Report:
    contract = loaded.contract
    return report(
        selected(findings, select, ignore),
        verb="verify",
        subject=contract.name if contract is not None else loaded.path,
        targets=tuple(map(_target, captures)),
        contracts=(loaded.path,),
        captures=tuple(_provenance(capture) for capture in captures),
        tables=tuple(tables),
        resolved=resolved_rows([loaded]),
        fail_on=fail_on,
        proof=_proof(tables),
    )


def _provenance(capture: Capture) -> dict[str, Any]:
    return capture.manifest.provenance.model_dump(mode="json")


def _proof(tables: Sequence[StepTables]) -> str:
    """What a clean verdict rests on: `every promise holds; 3 kinds of collective exactly as promised`."""
    parts = ["every promise holds"]
    kept = sum(row.plan_count is not None and row.verdict == "ok" for each in tables for row in each.collectives)
    if kept:
        parts.append(f"{kept} kind{'s' * (kept != 1)} of collective exactly as promised")
    ratios = [each.run.worst for each in tables if each.run is not None and each.run.worst is not None]
    if ratios:
        parts.append(f"worst ratio against one device {max(ratios):.2g} of 1")
    return "; ".join(parts)
