"""The items of a step, each read as what the step says it is: a tree of arrays, JSON, or files of another kind."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .facts import MARKER, Hole, Item
from .folder import Folder
from .metadata import parse_any
from .orbax import METADATA, is_tree, read_tree
from .safetensors import SUFFIX, read_safetensors
from .steps import STEP_METADATA, TEMPORARY, step_metadata

_HANDLER = re.compile(r"orbax\..*\.(?:(?P<tree>Standard|PyTree)|(?P<json>Json))(?:Checkpoint)?Handler")
"""Those of Orbax that write a tree, or JSON."""
_JSON = "metadata"
"""What Orbax calls the file of an item of JSON."""


def read_items(folder: Folder, files: Mapping[str, int]) -> tuple[list[Item], list[str]]:
    """The items that are there, and the names of those that the step says it has and that hold nothing.

    Raises ContractLintError for metadata and JSON that are damaged.
    """
    declared = step_metadata(folder).get("item_handlers") if STEP_METADATA in files else None
    handlers = {name: str(handler) for name, handler in declared.items()} if isinstance(declared, dict) else {}
    if not handlers.keys() & {path.partition("/")[0] for path in files if "/" in path} and is_tree(files, ""):
        return [read_tree(folder, "", files)], []
    tensors = [path for path in files if path.endswith(SUFFIX) and "/" not in path]
    if tensors:
        return [read_safetensors(folder, tensors, files)], []
    folders = {path.partition("/")[0] for path in files if "/" in path}
    # What a save left of an item beside the item itself is told as left, and is no item.
    names = sorted(name for name in folders if TEMPORARY not in name or name.partition(TEMPORARY)[0] not in folders)
    held = {path.partition("/")[0] for path in files if "/" in path and path.rpartition("/")[2] != MARKER}
    absent = sorted(handlers.keys() - held)
    items = [_item(folder, name, files, handlers.get(name)) for name in names if name not in absent]
    return items, absent


def _item(folder: Folder, name: str, files: Mapping[str, int], handler: str | None) -> Item:
    if is_tree(files, name):
        return read_tree(folder, name, files)
    written = _HANDLER.fullmatch(handler or "")
    if written is not None and written["tree"]:
        path = f"{name}/{METADATA}"
        return Item(
            name, None, {}, (Hole("absent", "", f"it was saved as a tree of arrays, and {path} is not there", path),)
        )
    inner = [path for path in files if path.startswith(f"{name}/") and path.rpartition("/")[2] != MARKER]
    # A step of before 2024 does not say what its items are; one that holds this file alone is what JSON leaves.
    said = written is not None and written["json"]
    if TEMPORARY not in name and (said or (handler is None and inner == [f"{name}/{_JSON}"])):
        for path in inner:
            parse_any(folder, path, folder.read(path))
    return Item(name, None, {})
