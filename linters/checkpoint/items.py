"""The items of a step, each read as what the step says it is: a tree of arrays, JSON, files of another kind, or a
folder of such items. Trees are found at any depth, and each is an item by its path."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ..cut import SHOWN, in_a_line
from .copies import without_left
from .declared import handlers_of, hole_of_kind, is_foreign, kind_of
from .facts import MARKER, Hole, Item
from .folder import Folder
from .metadata import parse_any
from .ocdbt import MANIFEST
from .orbax import METADATA, fault_of_names, is_single, read_tree
from .random_keys import faults_of_keys, trees_of_keys
from .safetensors import INDEX, SUFFIX, read_safetensors, several
from .steps import PROCESS, STEP_METADATA, TEMPORARY, number_of
from .trees import by_tree, merged, process_of, remains_of, trees_in, unmerged, without_leftovers

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
    handlers = handlers_of(folder, files)
    folders = {path.partition("/")[0] for path in files if "/" in path}
    reader = _Reader(folder, files, handlers, handlers.keys() & folders)
    if "" in reader.trees:
        return reader.item(""), []
    tensors = [path for path in files if path.endswith(SUFFIX) and "/" not in path]
    if tensors:
        _require_one(folder, tensors, files)
        return [read_safetensors(folder, tensors, files)], []
    if "" in handlers or (not handlers and reader.was_tree):
        first, *inner = reader.item("")
        return [*([first] if first.holes or first.faults else []), *inner], []
    # What a save left of an item beside the item itself is told as left, and is no item.
    names = sorted(name for name in folders if TEMPORARY not in name or name.partition(TEMPORARY)[0] not in folders)
    held = {path.partition("/")[0] for path in files if "/" in path and path.rpartition("/")[2] != MARKER}
    absent = sorted(handlers.keys() - held)
    return [item for name in names if name not in absent for item in reader.item(name)], absent


def _require_one(folder: Folder, tensors: Collection[str], files: Mapping[str, int]) -> None:
    """Raises ContractLintError for several checkpoints. A step may be saved as files of any names, and they are its."""
    if number_of(folder.path.name) is not None or any(path.endswith(INDEX) and "/" not in path for path in files):
        return
    found = several(tensors)
    if found:
        said = f"holds {len(found):,} checkpoints: {in_a_line(found, SHOWN)}"
        raise folder.refused("", said, f"name one: {folder.shown}/{found[0]}; those of one have numbers or an index")


class _Reader:
    """Items of one step. `there`: the declared items that have a folder."""

    def __init__(
        self, folder: Folder, files: Mapping[str, int], handlers: Mapping[str, str], there: Collection[str]
    ) -> None:
        self.folder, self.files, self.handlers = folder, files, handlers
        named, unnamed = trees_in(files, there)
        # What somebody else's handler wrote is for that to read.
        unnamed = [each for each in unnamed if not is_foreign(self._handler(each))]
        self.trees = {*without_leftovers([*named, *merged(map(self._item_of, unnamed))], files)}
        self._files = by_tree(files, self.trees)
        self._unmerged = without_leftovers(unmerged(files, self.trees), files)
        self.was_tree = "" in self._unmerged or "" in remains_of(self._files[None])
        """Whether the step itself was a tree, of which the names of its arrays are gone."""

    def item(self, name: str) -> list[Item]:
        """The item, and each tree in it."""
        start = f"{name}/" if name else ""
        handler = self._handler(name)
        inner = sorted(each for each in self.trees if each != name and each.startswith(start))
        loose = [path for path in self._files[None] if path.startswith(start)]
        first = self._tree(name) if name in self.trees else Item(name, None, {})
        if name not in self.trees:
            self._parse(handler, loose)
        holes, faults = faults_of_keys(self.folder, name, handler, self.files, self.trees)
        holes = [*self._holes(first, handler, inner, loose), *holes]
        if holes or faults:
            first = replace(first, holes=(*first.holes, *holes), faults=(*first.faults, *faults))
        keys = trees_of_keys(name, handler, self.files)
        return [replace(item, fixed=True) if item.name in keys else item for item in [first, *map(self._tree, inner)]]

    def _tree(self, name: str) -> Item:
        kind = kind_of(self.handlers.get(name))
        tree = read_tree(self.folder, name, self._files[name], single=kind != "tree")
        fixed = kind != "tree" and is_single(tree)
        fault = fault_of_names(tree) if kind in (None, "tree") and not fixed else None
        return replace(tree, fixed=fixed, faults=(*tree.faults, *([fault] if fault is not None else [])))

    def _handler(self, path: str) -> str | None:
        return self.handlers.get("") or self.handlers.get(path.partition("/")[0])

    def _item_of(self, unnamed: str) -> str:
        """The folder that arrays without a tree are of: the item, where that was saved as one."""
        if kind_of(self._handler(unnamed)) != "tree":
            return unnamed
        return "" if "" in self.handlers else unnamed.partition("/")[0]

    def _holes(self, item: Item, handler: str | None, inner: Collection[str], loose: list[str]) -> Iterator[Hole]:
        """What is not there of an item, and what is there and not looked at."""
        kind = kind_of(handler)
        torn = [] if is_foreign(handler) else [each for each in self._unmerged if self._of(item.name, each)]
        for each in torn:
            what = f"{each or 'it'} has {PROCESS}*, and {MANIFEST}, which joins what each process wrote, is not there"
            yield Hole("absent", "", what, f"{each}/{MANIFEST}" if each else MANIFEST)
        if kind == "tree":
            if item.layout is None and item.name not in torn:
                path = item.named(METADATA)
                yield Hole("absent", "", f"it was saved as a tree of arrays, and {path} is not there", path)
            return
        other = hole_of_kind(kind, item, inner, loose)
        if other is not None:
            yield other
        if item.layout is not None:
            return
        for marked in sorted(path.rpartition("/")[0] for path in loose if path.endswith(f"/{MARKER}")):
            # A save writes more than the mark of its end; what was in the folder is gone.
            if all(path == f"{marked}/{MARKER}" or not path.startswith(f"{marked}/") for path in self.files):
                yield Hole("absent", "", f"{marked} holds nothing but {MARKER}", marked)
        for each, path in remains_of(loose).items():
            if each not in torn and not is_foreign(handler):
                yield Hole("absent", "", f"Orbax writes {path} with arrays only, and none is there", path)
        apart = {*torn}
        unread = [path for path in loose if _ARRAYS.fullmatch(path.rpartition("/")[2])]
        unread = sorted(path for path in unread if process_of(path) not in apart)
        if unread:
            more = f" and {len(unread) - 1:,} more" if len(unread) > 1 else ""
            said = f" as {handler} saves them" if is_foreign(handler) else ""
            yield Hole("unread", "", f"{unread[0]}{more}{said}", item.name)

    @staticmethod
    def _of(folder: str, path: str) -> bool:
        """Whether a path is that of a folder, or lies in it."""
        return not folder or path == folder or path.startswith(f"{folder}/")

    def _parse(self, handler: str | None, loose: list[str]) -> None:
        """Raises ContractLintError for JSON that is none."""
        said = kind_of(handler) == "JSON"
        below: dict[str, list[str]] = {}
        for path in loose:
            above, _, name = path.rpartition("/")
            if name != MARKER and TEMPORARY not in above and path != STEP_METADATA:
                below.setdefault(above, []).append(path)
        for above, paths in below.items():
            # A step of before 2024 does not say what its items are, and no step what lies in an item of items; a
            # folder that holds this file alone is what JSON leaves.
            if said or (not is_foreign(handler) and paths == [f"{above}/{_JSON}"]):
                for path in paths:
                    parse_any(self.folder, path, self.folder.read(path))
