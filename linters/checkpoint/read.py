"""A checkpoint on disk as facts: which step, which items, which leaves. No array is read."""

from __future__ import annotations

import os
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ..cut import SHOWN, in_a_line
from .declared import fault_of_step
from .facts import Checkpoint, Step
from .folder import Folder
from .items import read_items
from .safetensors import SUFFIX, read_safetensors
from .steps import Commit, is_step, is_temporary, judged, leftovers, step_of, steps_in

_HELP = "name a step, a folder of steps (Orbax), or .safetensors files"


def read_checkpoint(path: str | Path, *, step: int | None = None, commit: Commit = "rename") -> Checkpoint:
    """The facts of a step, of the newest committed step (or `step`) of a folder of steps, or of a .safetensors file.

    `commit` says when a step counts. Raises ContractLintError for what cannot be read, is damaged, leads out of the
    folder, or is no checkpoint.
    """
    root, chosen, steps = find_step(path, step=step, commit=commit)
    if root.path.is_file():
        return _file(root)
    try:
        return _step(root, root.below(chosen.folder) if steps else root, chosen, steps)
    except ContractLintError as error:
        others = [each.folder for each in steps if each.state == "committed" and each != chosen]
        if not others:
            raise
        help = "; ".join(filter(None, (error.help, f"other committed steps: {in_a_line(others[::-1], SHOWN)}")))
        raise ContractLintError(error.message, error.location, help) from error


def find_step(
    path: str | Path, *, step: int | None = None, commit: Commit = "rename"
) -> tuple[Folder, Step, list[Step]]:
    """What `read_checkpoint` reads, without reading it: the folder (or file) that is named, its step, and all steps
    where it is a folder of steps. Raises ContractLintError as that does."""
    path = Path(path)
    shown = path.as_posix()
    try:
        if path.is_symlink() and not path.is_dir():
            raise ContractLintError("is a symbolic link", Location(shown), _target(path))
        if path.is_file():
            if path.suffix != SUFFIX:
                raise ContractLintError("is no .safetensors file", Location(shown), _HELP)
            Folder(path.parent, Path(shown).parent.as_posix()).size(path.name)  # a hole is refused
            return Folder(path, shown), Step(path.name, None, "committed"), []
        if not path.is_dir():
            raise ContractLintError("is not there", Location(shown), _HELP)
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(shown), _HELP) from error
    root = Folder(path.resolve() if path.name in ("", ".", "..") else path, shown)
    names = root.listed()
    if is_step(names) or is_temporary(root.path.name):
        if step is not None:
            raise ContractLintError("is one step, not a folder of steps", Location(shown), "leave --step out")
        (found,) = judged([step_of(root)], commit)
        return root, found, []
    steps = judged(steps_in(root, names), commit)
    if not steps:
        raise ContractLintError("holds no step of a checkpoint", Location(shown), _HELP)
    return root, _chosen(root, steps, step), steps


def _target(link: Path) -> str:
    end = os.path.realpath(link)
    if os.path.islink(end):
        return "it leads back to itself: name a folder or a file"
    return f"name what it points to: {end}"


def _file(file: Folder) -> Checkpoint:
    folder, name = Folder(file.path.parent, Path(file.shown).parent.as_posix()), file.path.name
    files = {name: folder.size(name)}
    item = read_safetensors(folder, files, files)
    return Checkpoint(file.shown, Step(name, None, "committed"), (item,), (), files)


def _chosen(root: Folder, steps: list[Step], number: int | None) -> Step:
    """The step that is read: the one asked for, else the newest committed, else the newest of all."""
    if number is None:
        return ([step for step in steps if step.state == "committed"] or steps)[-1]
    of_number = [step for step in steps if step.number == number]
    if not of_number:
        there = ", ".join(str(step.number) for step in steps if step.number is not None)
        raise ContractLintError(f"has no step {number}", Location(root.shown), f"it has {there or 'none by a number'}")
    return min(of_number, key=lambda step: step.state != "committed")


def _step(root: Folder, folder: Folder, step: Step, steps: list[Step]) -> Checkpoint:
    files = folder.files()
    items, absent = read_items(folder, files)
    # A step that is one tree restores without its metadata, and whoever wrote .safetensors has none.
    fault = fault_of_step(root, folder, step, steps, files) if items and all(item.name for item in items) else None
    return Checkpoint(
        path=root.shown,
        step=step,
        items=tuple(items),
        absent_items=tuple(absent),
        files=files,
        steps=tuple(steps),
        leftovers=tuple(leftovers(files, steps, step.folder if steps else "")),
        faults=(fault,) if fault is not None else (),
    )
