"""The first contract of a step: build and compile it once, draft, judge the draft, and note what it could not keep."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding, Location
from ....contracts.key import Key
from ....contracts.load import load_contract
from ....contracts.manifest import StepError
from ....hlo_tools.capture import Capture, read_capture
from ....runtime.contract import project_root, provenance
from ....runtime.launch import DEFAULT_TIMEOUT, run_child
from ....runtime.request import ChildRequest, MeshRequest, StepRequest
from ....runtime.targets import target as parse_target
from ..judged import judged
from ..report import Report
from ..targets import require_jax
from .bound import bound
from .draft import draft
from .yaml_text import yaml_text

STEP = "train"


def first_contract(
    entry: str,
    out: Path,
    *,
    target: str,
    name: str | None = None,
    args: Mapping[str, Any] | None = None,
    path: Sequence[str] = (),
    mesh: Mapping[str, int] | None = None,
    reference_args: Mapping[str, Any] | None = None,
    config: Mapping[str, str] | None = None,
    bindings: Mapping[Key, str] | None = None,
    python: str | None = None,
    timeout: float | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """Build the step of `entry` (`module:function`) for `target`, compile it, and write down what it does.

    The contract is written to `out`; `path`, folders for `sys.path`, is noted relative to it. `mesh` is axis -> size;
    without it a build function that wants a mesh gets one axis `data` over all devices. `reference_args` go into the
    contract as they are; `config` and `bindings` as in `bound`. Findings on the step itself
    become deviations to review, so that the contract passes as it stands.
    Raises ContractLintError for a step that cannot be built, traced or compiled, and for a file that cannot be written.
    """
    require_jax(python)
    tell = say or (lambda _: None)
    parse_target(target)
    with TemporaryDirectory(prefix="contract-lint-") as folder:
        twin = dict(reference_args or {})
        capture = _look(entry, out, Path(folder), target, args or {}, twin, path, mesh, python, timeout, tell)
        step: dict[str, Any] = {"entry": entry}
        if path:
            step["path"] = [Path(os.path.relpath(each, out.parent)).as_posix() for each in path]
        if args:
            step["args"] = dict(args)
        if twin:
            step["reference_args"] = twin
        drafted = draft(name or _name(entry), step, target, capture, whole_mesh=config is None)
        data = bound(drafted.data, out.parent, config or {}, bindings or {})
        tell("judging the draft")
        report = _judged(data, drafted.notes, out, capture)
        if findings := _open(report):
            data = data | {"deviations": list(map(_deviation, findings))}
            report = _judged(data, drafted.notes, out, capture)
        return report


def _look(
    entry: str,
    out: Path,
    folder: Path,
    target: str,
    args: Mapping[str, Any],
    reference_args: Mapping[str, Any],
    path: Sequence[str],
    mesh: Mapping[str, int] | None,
    python: str | None,
    timeout: float | None,
    say: Callable[[str], None],
) -> Capture:
    """Capture the step as the contract that is about to be written would."""
    root = project_root(out.resolve())
    fallback = [] if path else [str(out.resolve().parent), str(root)]
    request = ChildRequest(
        mode="infer",
        target=target,
        mesh=None if mesh is None else MeshRequest(axes=dict(mesh)),
        steps=[
            StepRequest(
                name=STEP,
                entry=entry,
                path=[str(Path(each).resolve()) for each in path],
                fallback_path=fallback,
                args=dict(args),
                reference_args=dict(reference_args),
            )
        ],
        project_root=str(root),
        out=str(folder / "capture"),
        provenance=provenance(root, "", target),
    )
    result = run_child(request, lambda phase: say(f"{target}: {phase}"), timeout or DEFAULT_TIMEOUT, python)
    if result.failure is not None or result.capture_dir is None:
        raise result.failure.as_error() if result.failure else ContractLintError("the step was not captured")
    capture = read_capture(result.capture_dir)
    error = capture.steps[STEP].facts.error
    if error is not None:
        raise _step_error(error, entry)
    return capture


def _step_error(error: StepError, entry: str) -> ContractLintError:
    frame = error.frames[0] if error.frames else None
    place = Location(frame.path, frame.line, frame.column) if frame is not None else None
    return ContractLintError(f"{entry} does not {error.phase}: {error.type}: {error.message}", place)


def _name(entry: str) -> str:
    """`my_pkg.train:build` -> `my-pkg-train`."""
    return entry.partition(":")[0].replace(".", "-").replace("_", "-").strip("-")


def _judged(data: dict[str, Any], notes: Sequence[str], out: Path, capture: Capture) -> Report:
    """Write the contract, and what `verify` says about it: it is read back from its text."""
    try:
        out.write_text(yaml_text(data, notes), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ContractLintError(f"cannot be written: {error.strerror or error}", Location(out.as_posix())) from error
    return judged(load_contract(out).readable(), [capture], verb="init")


def _open(report: Report) -> list[Finding]:
    return [root.finding for root in report.new_roots() if root.finding.severity != "info"]


def _deviation(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.code,
        "match": {"subject": finding.subject},
        "reason": f"review: found by init: {finding.message}",
    }
