"""The first contract of a step: look at it once, draft, judge the draft, and note what it could not keep."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding, Location
from ....contracts.key import Key
from ....contracts.load import load_contract
from ....runtime.contract import adopt
from ....runtime.folders import temporary_folder
from ..judged import judged
from ..report import Report
from ..targets import note_options
from .bound import bound
from .draft import REVIEW, draft
from .look import Look, Looked
from .module_path import module_path, relative
from .unfit import unfit
from .yaml_text import yaml_text

LONGEST_REASON = 200


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
    run: bool = True,
    python: str | None = None,
    timeout: float | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """Build the step of `entry` (`module:function`) for `target`, compile and run it, and write down what it does.

    The contract is written to `out`; `path`, folders for `sys.path`, is noted relative to it, and so is the working
    folder where the module lies there and the contract elsewhere. `mesh` is axis -> size;
    without it a build function that wants a mesh gets one axis `data` over all devices. `reference_args` go into the
    contract as they are; `config` and `bindings` as in `bound`. With `run`, a target that executes runs the step as
    `verify --run` does. Findings on the step itself become deviations to review, so that the contract passes as it
    stands. Of a step that does not fit a device no contract could hold: none is written, and the report, which then
    names no contract, says what is needed and what there is.
    Raises ContractLintError for a step that cannot be built, traced or compiled, and for a file that cannot be written.
    """
    tell = say or (lambda _: None)
    note_options(tell)
    folders = module_path(entry, out, path, Path.cwd())
    look = Look(entry, out, target, args or {}, reference_args or {}, folders, mesh, python, timeout)
    with temporary_folder() as folder:
        looked = look.at_the_step(folder, run, tell)
        step: dict[str, Any] = {"entry": entry}
        if folders:
            step["path"] = relative(folders, out)
        if args:
            step["args"] = dict(args)
        if reference_args:
            step["reference_args"] = dict(reference_args)
        if (too_large := unfit(name or _name(entry), step, looked, Path(folder))) is not None:
            return too_large
        drafted = draft(name or _name(entry), step, target, looked.capture, whole_mesh=config is None)
        data = bound(drafted.data, out.parent, config or {}, bindings or {})
        notes = [*looked.notes, *drafted.notes]
        tell("judging the draft")
        report = _judged(data, notes, out, looked)
        if findings := _open(report):
            data = data | {"deviations": _deviations(findings)}
            report = _judged(data, notes, out, looked)
        # Everything is read: the first `verify` of the contract as written finds what was seen here.
        adopt(load_contract(out).readable(), looked.request, looked.result, python, cache_dir, tell)
        return report


def _name(entry: str) -> str:
    """`my_pkg.train:build` -> `my-pkg-train`."""
    return entry.partition(":")[0].replace(".", "-").replace("_", "-").strip("-")


def _judged(data: dict[str, Any], notes: Sequence[str], out: Path, looked: Looked) -> Report:
    """Write the contract, and what `verify` says about it: it is read back from its text."""
    try:
        out.write_text(yaml_text(data, notes), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ContractLintError(f"cannot be written: {error.strerror or error}", Location(out.as_posix())) from error
    return judged(load_contract(out).readable(), [looked.capture], verb="init", run=looked.ran)


def _open(report: Report) -> list[Finding]:
    return [root.finding for root in report.new_roots() if root.finding.severity != "info"]


def _deviations(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One for each rule and subject: it accepts those of every line."""
    first: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        first.setdefault((finding.code, finding.subject), finding)
    return list(map(_deviation, first.values()))


def _deviation(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.code,
        "match": {"subject": finding.subject},
        "reason": f"review: {REVIEW}: {_short(finding.message)}",
    }


def _short(message: str) -> str:
    """The beginning of a message on one line: a program that fails tells pages."""
    line = " ".join(message.split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."
