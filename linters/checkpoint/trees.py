"""Which folders of a step hold a tree of arrays of their own: the step itself, an item, or a folder in an item.

A tree has `_METADATA` or the manifest of a database, and what lies below it is its own but for trees in it. Arrays
that no such folder holds are those of the folder above them, which has lost its `_METADATA`, or never had one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from .beside import PLACED, WRITTEN
from .ocdbt import MANIFEST
from .orbax import AGGREGATE, CHUNK, METADATA
from .steps import PROCESS, TEMPORARY
from .strings import STRINGS
from .zarr import NAMES

_MARKS = (METADATA, MANIFEST)
_ARRAYS = tuple(NAMES.values())
_BESIDE = re.compile(
    rf"(?:(?P<folder>.*)/)?(?:{PLACED}|{WRITTEN}/process_\d+|{STRINGS}|d/[0-9a-f]{{32}}|{AGGREGATE}/{CHUNK})"
)


def trees_in(files: Iterable[str], declared: Collection[str]) -> tuple[list[str], list[str]]:
    """Folders that say that they hold a tree, and folders that hold arrays and do not say so, each in order.

    `declared`: the items that the step says it has. Where one is there, the step itself is no tree.
    """
    named: set[str] = set()
    arrays: set[str] = set()
    old: set[str] = set()
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in _MARKS:
            named.add(folder)
        elif name in _ARRAYS:
            arrays.add(folder)
        elif name == AGGREGATE:
            old.add(folder)
    # What a process wrote before all were merged is of the tree that it lies in.
    named = {folder for folder in named if not any(part.startswith(PROCESS) for part in folder.split("/"))}
    if declared:
        named.discard("")
    alone = {_holder(folder, old, declared) for folder in arrays if not any(each in named for each in _above(folder))}
    return sorted(named), sorted(alone)


def without_leftovers(folders: Iterable[str], files: Mapping[str, int]) -> list[str]:
    """The folders but for what a save left beside the finished one: that is told as left, and is none."""
    return [folder for folder in folders if not any(_finished(each, files) for each in _above(folder))]


def merged(folders: Iterable[str]) -> list[str]:
    """Folders that have lost the names of their arrays, each with those in it: names may hold a slash."""
    found: list[str] = []
    for folder in sorted({*folders}):
        if not any(each in found for each in _above(folder)):
            found.append(folder)
    return found


def unmerged(files: Iterable[str], trees: Collection[str]) -> list[str]:
    """Folders where each process still has its own database, and nothing joins them: no restore reads that."""
    return sorted({folder for path in files if (folder := process_of(path)) is not None} - {*trees})


def process_of(path: str) -> str | None:
    """The folder in which a process has a database of its own that this file is of; None where it is of none."""
    folder, found, _ = f"/{path.rpartition('/')[0]}".partition(f"/{PROCESS}")
    return folder[1:] if found else None


def remains_of(files: Iterable[str]) -> dict[str, str]:
    """Folder -> the first file in it that Orbax writes beside arrays only, of files that are of no tree."""
    found: dict[str, str] = {}
    for path in sorted(files):
        match = _BESIDE.fullmatch(path)
        if match is not None and f"/{PROCESS}" not in f"/{path}" and TEMPORARY not in path:
            found.setdefault(match["folder"] or "", path)
    return found


def by_tree(files: Mapping[str, int], trees: Collection[str]) -> dict[str | None, dict[str, int]]:
    """The files of each tree, but for those of trees in it; of no tree are those of None."""
    found: dict[str | None, dict[str, int]] = {each: {} for each in (*trees, None)}
    for path, size in files.items():
        found[next((each for each in _above(path) if each in trees), None)][path] = size
    return found


def _holder(array: str, old: Collection[str], declared: Collection[str]) -> str:
    """The folder that an array which no tree names is of."""
    for each in _above(array):
        if each != array and each in old and not (declared and not each):
            return each
    above = array.rpartition("/")[0]
    return array if not above and (declared or not array) else above


def _above(folder: str) -> Iterator[str]:
    """The folder, and those that it lies in."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _finished(folder: str, files: Mapping[str, int]) -> bool:
    above, _, name = folder.rpartition("/")
    if TEMPORARY not in name:
        return False
    start = f"{above}/" if above else ""
    final = f"{start}{name.partition(TEMPORARY)[0]}/"
    return any(path.startswith(final) for path in files)
