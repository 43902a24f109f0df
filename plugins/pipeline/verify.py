"""`verify`: the main job. Contract -> captures -> evidence -> findings and tables -> report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.load import LoadedContract, load_contract
from ...hlo_tools.capture import Capture, read_capture
from .check import static_findings
from .judged import Filters, judged, reported, target_of
from .report import FailOn, Report
from .selection import require_known

if TYPE_CHECKING:
    from ...runtime.targets import Effort

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
    effort: Effort | None = None,
    cache_dir: str | PathLike[str] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    say: Say | None = None,
) -> Report:
    """Judge the contract at `path` on `targets` (default: all it names).

    With `capture_dir` (one capture, or a folder with one for each target) nothing is run and jax is not needed; else
    each target is captured in a child process, where `run` executes `steps` steps too. `effort` is how hard the
    compiler tries; where a fast compile is too close to a memory limit to pass, a full one follows. `cache_dir` is
    where captures are kept. `say` is told what begins.
    Raises ContractLintError for wrong usage, unreadable input, an unknown target, or a step that cannot be built.
    """
    tell: Say = say or (lambda _: None)
    require_known([*select, *ignore])
    loaded = load_contract(Path(path)).readable()
    static = static_findings(loaded)
    filters = Filters(tuple(select), tuple(ignore), fail_on)
    if loaded.contract is None:
        return reported(loaded, static, verb="verify", filters=filters)
    try:
        if capture_dir is not None:
            captures = read_captures(Path(capture_dir), targets or _promised(loaded), tell)
            _require_steps(loaded.contract.step, captures)
            _note_age(loaded, captures, tell)
        else:
            from .capture import capture_targets
            from .effort import proven
            from .targets import note_options, possible_targets

            note_options(tell)
            Thread(target=_import_the_rest, daemon=True).start()
            options: dict[str, Any] = {"run": run, "steps": steps, "cache": cache, "python": python, "timeout": timeout}
            options["cache_dir"] = cache_dir
            names = targets or possible_targets(loaded, tell)
            captures = capture_targets(loaded, names, effort=effort, say=tell, **options)
            captures = proven(loaded, captures, tell, **options)
    except ContractLintError as error:
        if not any(finding.severity == "error" for finding in static):
            raise
        tell(f"not captured, see the findings on the contract first: {error.message}")
        return reported(loaded, static, verb="verify", filters=filters)
    if run:
        _require_run(captures, tell)
    tell("judging")
    return judged(loaded, captures, verb="verify", run=run, filters=filters)


def _import_the_rest() -> None:
    """Import what judging and the report need, while the compiler is at work in its own process."""
    from ...linters.registry import rules
    from ..report import text  # noqa: F401

    rules()


def read_captures(folder: Path, targets: Sequence[str], say: Say) -> list[Capture]:
    """The capture in `folder`, or those right below it, ordered by target; only `targets` where any are named.

    Raises ContractLintError where there is none, where a target has none, or where one target has two.
    """
    found = [folder] if os.path.isfile(folder / MANIFEST) or not os.path.isdir(folder) else _below(folder)
    captures = sorted(map(read_capture, found or [folder]), key=target_of)
    names = [target_of(capture) for capture in captures]
    place = Location(folder.as_posix())
    for name in names:
        if names.count(name) > 1:
            raise ContractLintError(f"holds more than one capture for {name}", place, "name the folder of one of them")
    for target in targets:
        if target not in names:
            raise ContractLintError(
                f"holds no capture for {target}, only for {', '.join(names)}",
                place,
                "capture it too, or judge the others alone with --target",
            )
    say(f"read {len(captures)} capture{'s' * (len(captures) != 1)} from {folder.as_posix()}")
    return [capture for capture in captures if not targets or target_of(capture) in targets]


def _promised(loaded: LoadedContract) -> list[str]:
    """The targets a contract names: one without a capture would pass for lack of evidence."""
    return [entry.target for entry in loaded.contract.targets] if loaded.contract is not None else []


def _below(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if os.path.isfile(child / MANIFEST))


def _require_steps(names: Iterable[str], captures: Iterable[Capture]) -> None:
    """A step of the contract that was not captured would pass for lack of evidence."""
    for capture in captures:
        for name in names:
            if name not in capture.steps:
                held = ", ".join(capture.steps) or "none"
                place = Location(capture.root.as_posix())
                raise ContractLintError(f"holds no step `{name}`, only {held}", place, help="make the capture again")


def _note_age(loaded: LoadedContract, captures: Iterable[Capture], say: Say) -> None:
    for capture in captures:
        if capture.manifest.provenance.contract_digest != loaded.digest:
            say(f"the capture for {target_of(capture)} was made from another version of the contract")


def _require_run(captures: Sequence[Capture], say: Say) -> None:
    """`--run` on captures in which nothing ran would pass for lack of evidence."""
    ran = {
        target_of(c): any(s.run is not None or s.facts.error is not None for s in c.steps.values()) for c in captures
    }
    if not any(ran.values()):
        raise ContractLintError(
            f"--run: no step was executed for {', '.join(ran)}",
            help="capture with `contract-lint capture --run`, on a target that can execute",
        )
    for target in (target for target, done in ran.items() if not done):
        say(f"{target}: not executed, so nothing that --run promises was judged there")
