"""The steps of a folder, and which of them are committed, as Orbax and its storage leave them.

A save writes into `NAME.orbax-checkpoint-tmp...` and renames it; where renaming is no single act (object stores) it
writes commit_success.txt at last. The metadata of a step has its commit time from just before either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from .copies import FOLDERS, is_left
from .facts import MARKER, Step
from .folder import Folder
from .metadata import parse

TEMPORARY = ".orbax-checkpoint-tmp"
PARTS = ".partial_save"
"""What a step is called that is saved in parts, until somebody says that it has them all."""
STEP_METADATA = "_CHECKPOINT_METADATA"
ORBAX = frozenset((STEP_METADATA, "_METADATA", "manifest.ocdbt"))
"""Files that Orbax leaves in a step or an item of one, and nothing else has."""
PROCESS = "ocdbt.process_"
"""What a process writes until all are merged into one database."""
_NUMBER = re.compile(r"(?:[A-Za-z][\w.-]*_)?0*(\d{1,18})")
Commit = Literal["rename", "marker"]


def is_step(names: Sequence[tuple[str, bool]]) -> bool:
    """Whether a folder with these entries is one step, or an item of one, rather than a folder of steps."""
    files = {name for name, folder in names if not folder}
    if any(folder and name.startswith(PROCESS) for name, folder in names):
        return True
    return bool(files & {*ORBAX, MARKER}) or any(name.endswith(".safetensors") for name in files)


def is_temporary(name: str) -> bool:
    """Whether Orbax renames a folder of this name once its save has ended."""
    return TEMPORARY in name or name.endswith(PARTS)


def number_of(name: str) -> int | None:
    """`1200`, `checkpoint_1200` or `00001200` as 1200."""
    match = _NUMBER.fullmatch(name.partition(TEMPORARY)[0].removesuffix(PARTS))
    return int(match[1]) if match is not None else None


def steps_in(root: Folder, names: Sequence[tuple[str, bool]]) -> list[Step]:
    """All steps of a folder, oldest first, temporary ones among them."""
    named = [(name, folder) for name, folder in names if number_of(name) is not None or is_temporary(name)]
    found = [step_of(inner) for name, folder in named if (inner := root.below(name)) and folder]
    found.sort(key=lambda step: (-1 if step.number is None else step.number, step.folder))
    return found


def step_of(folder: Folder) -> Step:
    """One step by itself. Raises ContractLintError where its metadata is damaged."""
    name = folder.path.name
    listed = folder.listed()
    names = {each for each, _ in listed}
    marked = MARKER in names
    number = number_of(name)
    if TEMPORARY in name:
        return Step(name, number, "temporary", "its save has not ended: it still has its temporary name", marked)
    if is_temporary(name):
        return Step(name, number, "temporary", "it was saved in parts, and nobody has finalized it", marked)
    why = ""
    if not listed:
        why = "it is empty"
    elif not _holds(folder, listed):
        why = "nothing was saved in it"
    elif STEP_METADATA in names and not marked:
        metadata = step_metadata(folder)
        if "commit_timestamp_nsecs" in metadata and metadata["commit_timestamp_nsecs"] is None:
            why = f"{STEP_METADATA} has no commit time"
    return Step(name, number, "unfinished" if why else "committed", why, marked)


def _holds(folder: Folder, listed: Sequence[tuple[str, bool]]) -> bool:
    """Whether a step has anything beside what is said about it."""
    about = (MARKER, STEP_METADATA)
    return any(
        any(inner != MARKER for inner, _ in folder.below(name).listed()) if is_folder else name not in about
        for name, is_folder in listed
    )


def step_metadata(folder: Folder) -> dict[str, Any]:
    """What a step says of itself."""
    return parse(folder, STEP_METADATA, folder.read(STEP_METADATA))


def judged(steps: Sequence[Step], commit: Commit) -> list[Step]:
    """The steps, those unfinished that lack the marker: where it is promised, or where an older step has one."""
    found: list[Step] = []
    marked = commit == "marker"
    for step in steps:
        if step.state == "committed" and not step.marked and marked:
            step = replace(step, state="unfinished", why=f"{MARKER} is not there")
        marked = marked or (step.marked and step.state == "committed")
        found.append(step)
    return found


def leftovers(files: Mapping[str, int], steps: Sequence[Step], folder: str) -> list[str]:
    """Temporary folders beside the steps, and temporary folders and files in the step that was read."""
    found = {step.folder for step in steps if step.state == "temporary"}
    above = [folder] if folder else []
    for path in files:
        *folders, file = path.split("/")
        first = next((at for at, part in enumerate(folders) if TEMPORARY in part or part in FOLDERS), None)
        if first is not None:
            found.add("/".join([*above, *folders[: first + 1]]))
        elif TEMPORARY in file or is_left(file):
            found.add("/".join([*above, path]))
    return sorted(found)
