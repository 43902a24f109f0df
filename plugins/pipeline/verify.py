"""`verify`: the main job. Contract -> captures -> evidence -> findings and tables -> report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Finding, Location
from ...contracts.load import LoadedContract, load_contract
from ...hlo_tools.capture import Capture, read_capture
from .check import static_findings
from .judged import Filters, judged, reported, target_of
from .not_checked import NotChecked, of_each
from .report import FailOn, Report
from .selection import require_known
from .targets import exists

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
    semantics: bool = False,
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
    witness: Callable[[LoadedContract, Sequence[Capture]], None] | None = None,
) -> Report:
    """Judge the contract at `path` on `targets` (default: all it names).

    With `capture_dir` (one capture, or a folder with one for each target) nothing is run and jax is not needed; else
    each target is captured in a child process, where `run` executes `steps` steps too and `semantics` probes what the
    steps mean. `effort` is how hard the compiler tries; where a fast compile is too close to a memory limit to pass, a
    full one follows. `cache_dir` is where captures are kept. `say` is told what begins, `witness` given what is judged.
    A target that cannot be captured is `not_checked` in the report, and the others are judged.
    Raises ContractLintError for wrong usage, unreadable input, an unknown target, or where no target can be captured.
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
            captures, missing = read_captures(Path(capture_dir), targets or _promised(loaded), tell)
            _require_steps(loaded.contract.step, captures)
            _note_age(loaded, captures, tell)
        else:
            from .capture import capture_targets
            from .effort import proven
            from .targets import chosen_targets, note_options, possible_targets

            note_options(tell)
            # Not a daemon: a process that ends early waits for the import, since half of one crashes the interpreter.
            Thread(target=_import_the_rest).start()
            options: dict[str, Any] = {
                "run": run,
                "semantics": semantics,
                "steps": steps,
                "cache": cache,
                "python": python,
                "timeout": timeout,
            }
            options["cache_dir"] = cache_dir

            def one(name: str) -> list[Capture]:
                captures = capture_targets(loaded, [name], effort=effort, say=tell, **options)
                return proven(loaded, captures, tell, **options)

            names = chosen_targets(loaded, targets) if targets else possible_targets(loaded, tell)
            made, missing = of_each(names, one, tell)
            captures = [capture for found in made for capture in found]
    except ContractLintError as error:
        if not any(finding.severity == "error" for finding in static):
            raise
        tell(f"not captured, see the findings on the contract first: {error.message}")
        return reported(loaded, static, verb="verify", filters=filters)
    missing = [each for each in missing if not _said_by(static, loaded, each.target)]
    if run:
        _require_run(captures, tell)
    if semantics:
        _require_probe(captures, tell)
    if witness is not None:
        witness(loaded, captures)
    tell("judging")
    return judged(loaded, captures, verb="verify", run=run, semantics=semantics, filters=filters, not_checked=missing)


def _import_the_rest() -> None:
    """Import what judging and the report need, while the compiler is at work in its own process."""
    from ...linters.registry import rules
    from ..report import text  # noqa: F401

    rules()


def read_captures(folder: Path, targets: Sequence[str], say: Say) -> tuple[list[Capture], list[NotChecked]]:
    """The capture in `folder`, or those right below it, ordered by target; only `targets` where any are named, and
    those of them that have none.

    Raises ContractLintError where there is none, where no target has one, or where one target has two.
    """
    found = [folder] if os.path.isfile(folder / MANIFEST) or not os.path.isdir(folder) else _below(folder)
    captures = sorted(map(read_capture, found or [folder]), key=target_of)
    names = [target_of(capture) for capture in captures]
    place = Location(folder.as_posix())
    for name in names:
        if names.count(name) > 1:
            raise ContractLintError(f"holds more than one capture for {name}", place, "name the folder of one of them")

    absent = [target for target in targets if target not in names]
    if absent and len(absent) == len(targets):
        raise _no_capture(", ".join(absent), names, place)
    missing = [NotChecked.because(target, _no_capture(target, names, place)) for target in absent]
    say(f"read {len(captures)} capture{'s' * (len(captures) != 1)} from {folder.as_posix()}")
    return [capture for capture in captures if not targets or target_of(capture) in targets], missing


def _no_capture(target: str, names: Sequence[str], place: Location) -> ContractLintError:
    return ContractLintError(
        f"holds no capture for {target}, only for {', '.join(names)}",
        place,
        "capture it too, or judge the others alone with --target",
    )


def _promised(loaded: LoadedContract) -> list[str]:
    """The targets a contract names that there are: one without a capture would pass for lack of evidence."""
    named = loaded.contract.targets if loaded.contract is not None else []
    return [entry.target for entry in named if exists(entry.target)]


def _said_by(static: Iterable[Finding], loaded: LoadedContract, target: str) -> bool:
    """Whether an error on the contract stands at the entry of a target: it says why there can be no capture."""
    named = loaded.contract.targets if loaded.contract is not None else []
    entries = tuple(f"targets[{index}]" for index, entry in enumerate(named) if entry.target == target)
    return any(finding.severity == "error" and (finding.key or "").startswith(entries) for finding in static)


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


def _require_probe(captures: Sequence[Capture], say: Say) -> None:
    """`--semantics` on captures in which nothing was probed would pass for lack of evidence."""
    probed = {
        target_of(c): any(s.semantics is not None or s.facts.error is not None for s in c.steps.values())
        for c in captures
    }
    if not any(probed.values()):
        raise ContractLintError(
            f"--semantics: no step was probed for {', '.join(probed)}",
            help="capture with `contract-lint capture --semantics`, on a target that can execute",
        )
    for target in (target for target, done in probed.items() if not done):
        say(f"{target}: not executed, so nothing that --semantics promises was judged there")


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
