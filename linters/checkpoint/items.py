"""The items of a step, each read as what the step says it is: a tree of arrays, JSON, files of another kind, or a
folder of such items. Trees are found at any depth, and each is an item by its path."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from .copies import without_left
from .facts import MARKER, Hole, Item
from .folder import Folder
from .metadata import parse_any
from .orbax import METADATA, read_tree
from .random_keys import faults_of_keys
from .safetensors import SUFFIX, read_safetensors
from .steps import STEP_METADATA, TEMPORARY, step_metadata
from .trees import by_tree, merged, trees_in, without_leftovers

_HANDLER = re.compile(r"orbax\..*\.(?:(?P<tree>Standard|PyTree)|(?P<json>Json))(?:Checkpoint)?Handler")
"""Those of Orbax that write a tree, or JSON."""
_JSON = "metadata"
"""What Orbax calls the file of an item of JSON."""
_ARRAYS = re.compile(
    r"\.zarray|zarr\.json|manifest\.ocdbt|checkpoint|.*\.(?:npy|npz|safetensors|msgpack|h5|hdf5|pt|pth)"
)
"""Files that hold arrays, or say that others do."""


def read_items(folder: Folder, files: Mapping[str, int]) -> tuple[list[Item], list[str]]:
    """The items that are there, and the names of those that the step says it has and that hold nothing.

    Raises ContractLintError for metadata and JSON that are damaged.
    """
    files = without_left(files)
    declared = step_metadata(folder).get("item_handlers") if STEP_METADATA in files else None
    handlers = {name: str(handler) for name, handler in declared.items()} if isinstance(declared, dict) else {}
    folders = {path.partition("/")[0] for path in files if "/" in path}
    reader = _Reader(folder, files, handlers, handlers.keys() & folders)
    if "" in reader.trees:
        return reader.item(""), []
    tensors = [path for path in files if path.endswith(SUFFIX) and "/" not in path]
    if tensors:
        return [read_safetensors(folder, tensors, files)], []
    # What a save left of an item beside the item itself is told as left, and is no item.
    names = sorted(name for name in folders if TEMPORARY not in name or name.partition(TEMPORARY)[0] not in folders)
    held = {path.partition("/")[0] for path in files if "/" in path and path.rpartition("/")[2] != MARKER}
    absent = sorted(handlers.keys() - held)
    items = reader.whole(declared) if isinstance(declared, str) else []
    return [*items, *(item for name in names if name not in absent for item in reader.item(name))], absent


class _Reader:
    """Items of one step. `there`: the declared items that have a folder."""

    def __init__(
        self, folder: Folder, files: Mapping[str, int], handlers: Mapping[str, str], there: Collection[str]
    ) -> None:
        self.folder, self.files, self.handlers = folder, files, handlers
        named, unnamed = trees_in(files, there)
        # What somebody else's handler wrote is for that to read.
        unnamed = [each for each in unnamed if not _foreign(self._handler(each))]
        self.trees = {*without_leftovers([*named, *merged(map(self._item_of, unnamed))], files)}
        self._files = by_tree(files, self.trees)

    def whole(self, handler: str) -> list[Item]:
        """What there is to say of a step that is one item, of no tree itself."""
        holes, faults = faults_of_keys(self.folder, "", handler, self.files, self.trees)
        return [Item("", None, {}, tuple(holes), faults=tuple(faults))] if holes or faults else []

    def item(self, name: str) -> list[Item]:
        """The item, and each tree in it."""
        start = f"{name}/" if name else ""
        handler = self.handlers.get(name)
        inner = sorted(each for each in self.trees if each != name and each.startswith(start))
        if name in self.trees:
            first = self._tree(name)
        else:
            loose = [path for path in self._files[None] if path.startswith(start)]
            first = Item(name, None, {}, tuple(self._holes(name, handler, loose)))
            self._parse(handler, loose)
        holes, faults = faults_of_keys(self.folder, name, handler, self.files, self.trees)
        if holes or faults:
            first = replace(first, holes=(*first.holes, *holes), faults=(*first.faults, *faults))
        return [first, *map(self._tree, inner)]

    def _tree(self, name: str) -> Item:
        written = _HANDLER.fullmatch(self.handlers.get(name) or "")
        return read_tree(self.folder, name, self._files[name], single=written is None or not written["tree"])

    def _handler(self, path: str) -> str | None:
        return self.handlers.get(path.partition("/")[0])

    def _item_of(self, unnamed: str) -> str:
        """The folder that arrays without a tree are of: the item, where that was saved as one."""
        written = _HANDLER.fullmatch(self._handler(unnamed) or "")
        return unnamed.partition("/")[0] if written is not None and written["tree"] else unnamed

    def _holes(self, name: str, handler: str | None, loose: list[str]) -> Iterator[Hole]:
        """What is not there of an item that is no tree, and what is there and not looked at."""
        written = _HANDLER.fullmatch(handler or "")
        if written is not None and written["tree"]:
            path = f"{name}/{METADATA}"
            yield Hole("absent", "", f"it was saved as a tree of arrays, and {path} is not there", path)
            return
        for marked in sorted(path.rpartition("/")[0] for path in loose if path.endswith(f"/{MARKER}")):
            # A save writes more than the mark of its end; what was in the folder is gone.
            if all(path == f"{marked}/{MARKER}" or not path.startswith(f"{marked}/") for path in self.files):
                yield Hole("absent", "", f"{marked} holds nothing but {MARKER}", marked)
        unread = sorted(path for path in loose if _ARRAYS.fullmatch(path.rpartition("/")[2]))
        if unread:
            more = f" and {len(unread) - 1:,} more" if len(unread) > 1 else ""
            said = f" as {handler} saves them" if handler is not None and _foreign(handler) else ""
            yield Hole("unread", "", f"{unread[0]}{more}{said}", name)

    def _parse(self, handler: str | None, loose: list[str]) -> None:
        """Raises ContractLintError for JSON that is none."""
        written = _HANDLER.fullmatch(handler or "")
        said = written is not None and written["json"]
        below: dict[str, list[str]] = {}
        for path in loose:
            above, _, name = path.rpartition("/")
            if name != MARKER and TEMPORARY not in above:
                below.setdefault(above, []).append(path)
        for above, paths in below.items():
            # A step of before 2024 does not say what its items are, and no step what lies in an item of items; a
            # folder that holds this file alone is what JSON leaves.
            if said or (not _foreign(handler) and paths == [f"{above}/{_JSON}"]):
                for path in paths:
                    parse_any(self.folder, path, self.folder.read(path))


def _foreign(handler: str | None) -> bool:
    return handler is not None and not handler.startswith("orbax.")
