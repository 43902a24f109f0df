"""What `_CHECKPOINT_METADATA` says that each item of a step is, and whether what is there can be that.

A handler of Orbax leaves the same kind of files always: what another kind lies in the place of was not saved there. Of
somebody else's handler nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from ...contracts.errors import ContractLintError
from ..cut import in_a_line
from .beside import WRITTEN
from .facts import MARKER, Fault, Hole, Item, Step
from .folder import Folder
from .steps import STEP_METADATA, step_metadata

Kind = Literal["tree", "JSON", "array", "key", "items"]
_HANDLER = re.compile(r"orbax\..*\.(?P<name>[A-Za-z]+?)(?:Checkpoint)?Handler")
_KINDS: Mapping[str, Kind] = {
    "Standard": "tree",
    "PyTree": "tree",
    "BasePyTree": "tree",
    "Json": "JSON",
    "Array": "array",
    "JaxRandomKey": "key",
    "NumpyRandomKey": "key",
    "Composite": "items",
}
_HANDLERS = "item_handlers"
_SAVED = {"JSON": "JSON", "array": "one array by itself", "items": "items"}
_SOME = 3
"""Names that a message has."""
_THEN = "a restore that does not say what each item is fails (CheckpointManager.restore(step))"
_HELP = "bring the file back, or give the restore the handler or the arguments of each item"


def handlers_of(folder: Folder, files: Collection[str]) -> dict[str, str]:
    """The handler of each item, that of "" where the step itself is one; empty where the step does not say.

    Raises ContractLintError where its metadata is damaged.
    """
    return _handlers(step_metadata(folder)) if STEP_METADATA in files else {}


def kind_of(handler: str | None) -> Kind | None:
    """What a handler of Orbax leaves; None of any other."""
    match = _HANDLER.fullmatch(handler or "")
    return _KINDS.get(match["name"]) if match is not None else None


def is_foreign(handler: str | None) -> bool:
    """Whether a handler is declared that is none of Orbax."""
    return handler is not None and not handler.startswith("orbax.")


def hole_of_kind(kind: Kind | None, item: Item, inner: Collection[str], files: Iterable[str]) -> Hole | None:
    """What is there in the place of what was saved. `inner`: trees in the item; `files`: its own, of no tree.

    An item of a tree or a random key that lacks one is told elsewhere.
    """
    if kind not in _SAVED:
        return None
    start = f"{item.name}/" if item.name else ""
    own = [path[len(start) :] for path in files if path.rpartition("/")[2] != MARKER]
    direct = sorted(path for path in own if "/" not in path and path != STEP_METADATA)
    folders = sorted({path.partition("/")[0] for path in (*(each[len(start) :] for each in inner), *own)} - {*direct})
    found = ""
    if item.layout is not None and (kind != "array" or not _is_array(item)):
        found = f"a tree of {len(item.leaves):,} {'leaf' if len(item.leaves) == 1 else 'leaves'}"
    elif item.layout is None and not {"JSON": direct, "items": folders}.get(kind):
        found = in_a_line([*folders, *direct], _SOME) or "nothing"
    return Hole("other", "", f"it was saved as {_SAVED[kind]}, and there is {found}", item.name) if found else None


def fault_of_step(
    root: Folder, folder: Folder, step: Step, steps: Iterable[Step], files: Collection[str]
) -> Fault | None:
    """That a step does not say what its items are, where Orbax wrote that; before the end of 2024 it did not.

    `root`: the folder of `steps`. Whether the step has items is for the caller to know.
    """
    if step.state != "committed" or handlers_of(folder, files):
        return None
    because = _because(root, step, steps, files)
    if because is None:
        return None
    what = f"has no `{_HANDLERS}`" if STEP_METADATA in files else "is not there"
    return Fault(STEP_METADATA, f"{what}, and {because}", severity="warning", then=_THEN, help=_HELP)


def _because(root: Folder, step: Step, steps: Iterable[Step], files: Collection[str]) -> str | None:
    """Why the step had it once: what else Orbax writes only since then, or an older step of the same run."""
    for path in files:
        if f"/{WRITTEN}/" in path:
            return f"Orbax writes it wherever it writes {WRITTEN}"
    for older in steps:
        if older.state == "committed" and (older.number or 0) < (step.number or 0) and _told(root.below(older.folder)):
            return f"the older step {older.folder} has it"
    return None


def _told(folder: Folder) -> bool:
    try:
        return bool(handlers_of(folder, [name for name, _ in folder.listed()]))
    except ContractLintError:
        return False  # it is another step that is read


def _handlers(metadata: Mapping[str, Any]) -> dict[str, str]:
    said = metadata.get(_HANDLERS)
    if isinstance(said, str):
        return {"": said}
    return {name: str(handler) for name, handler in said.items()} if isinstance(said, dict) else {}


def _is_array(item: Item) -> bool:
    """Whether a tree is one array under a name of its own, as Orbax saves one by itself."""
    return [(leaf.kind, path.count("/")) for path, leaf in item.leaves.items() if path] == [("array", 0)]
