"""`init`: look at a step and write the contract that it keeps. What is found becomes a promise for a person to review."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..hlo_tools.capture import Capture, read_capture
from .cache import CaptureCache
from .contract import project_root, provenance
from .infer_sections import sections
from .infer_text import contract_text
from .launch import DEFAULT_TIMEOUT, Progress, run_child
from .request import ChildRequest, MeshRequest, StepRequest
from .targets import target as parse_target


@dataclass(frozen=True, slots=True)
class InferredContract:
    """A contract as YAML text, and the notes on what could not be promised. `step` is the name of its one step."""

    text: str
    notes: tuple[str, ...]
    step: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that the first contract accepts, to be reviewed: an entry of `deviations`."""

    rule: str
    match: Mapping[str, Any]


def infer_contract(
    entry: str,
    target: str,
    file: str | Path,
    *,
    mesh: Mapping[str, int] | None = None,
    path: Sequence[str | Path] | None = None,
    args: Mapping[str, Any] | None = None,
    step: str = "train",
    accepted: Sequence[Accepted] = (),
    python: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    on_progress: Progress | None = None,
) -> InferredContract:
    """The contract of `entry` (`module:function`) on a target, to be written to `file`, which is not touched.

    mesh: axis name -> size; without it a build function that wants a mesh gets one axis `data` over all devices, and the mesh of a
    step that makes its own is read off its arguments. path: folders for `sys.path`; default the working folder, unless the module is
    installed. args: build arguments. accepted: deviations to write, found by judging an earlier text.
    Raises ContractLintError for whatever goes wrong in the child, and with the user's line where the step cannot be traced.
    """
    file = Path(file).resolve()
    root = project_root(file)
    folders = _folders(entry, path)
    request = ChildRequest(
        mode="infer",
        target=parse_target(target).name,
        mesh=MeshRequest(axes=dict(mesh)) if mesh else None,
        steps=[
            StepRequest(name=step, entry=entry, path=[str(f) for f in folders], args=dict(args or {}))
        ],
        project_root=str(root),
        out="",
        provenance=provenance(root, "", target),
    )
    fresh = CaptureCache(root).fresh()
    try:
        result = run_child(request.model_copy(update={"out": str(fresh)}), on_progress, timeout, python)
        if result.failure is not None:
            raise result.failure.as_error()
        capture = read_capture(fresh)
        _must_have_compiled(capture, step)
        relative = [Path(os.path.relpath(folder, file.parent)).as_posix() for folder in folders]
        found, notes = sections(capture, step, entry, target, relative, dict(args or {}))
    finally:
        shutil.rmtree(fresh.parent, ignore_errors=True)
    if accepted:
        found["deviations"] = [
            {"rule": a.rule, "match": dict(a.match), "reason": "found by init, to be reviewed"} for a in accepted
        ]
    return InferredContract(contract_text(found, notes, entry, target), tuple(notes), step)


def _folders(entry: str, path: Sequence[str | Path] | None) -> list[Path]:
    if path is not None:
        return [Path(folder).resolve() for folder in path]
    top = entry.partition(":")[0].partition(".")[0]
    here = Path.cwd().resolve()
    local = (here / top).is_dir() or (here / f"{top}.py").is_file()
    if not local and top not in sys.modules and importlib.util.find_spec(top) is None:
        return [here]
    return [here] if local else []


def _must_have_compiled(capture: Capture, step: str) -> None:
    error = capture.steps[step].facts.error
    if error is not None:
        frame = error.frames[0] if error.frames else None
        place = Location(frame.path, frame.line, frame.column) if frame else None
        raise ContractLintError(
            f"the step does not get through {error.phase}: {error.type}: {error.message}",
            place,
            help="mend the step first: there is nothing to promise yet",
        )
