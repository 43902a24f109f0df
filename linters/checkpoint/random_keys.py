"""Random keys as Orbax saves them: a tree that holds the key, and beside it JSON that says what kind of key it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .facts import Fault, Hole
from .folder import Folder
from .metadata import parse

_HANDLER = re.compile(r"orbax\..*\.(?P<kind>Jax|Numpy)RandomKeyCheckpointHandler")
_BESIDE = "_metadata"
_FILE = "metadata"
_NAMES = {"Jax": "jax_random_key", "Numpy": "np_random_key"}
"""What Orbax calls a key that is given no name."""
_WORDS = {"Jax": "typed", "Numpy": "legacy"}
"""What Orbax looks up in the JSON."""
_KNOWN = re.compile(rf"(?:(?P<folder>.*)/)?(?P<name>{'|'.join(_NAMES.values())})(?:{_BESIDE})?/.*")


@dataclass(frozen=True, slots=True)
class _Key:
    """`folder` holds the two folders of the key."""

    folder: str
    name: str
    word: str

    @property
    def tree(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name

    @property
    def file(self) -> str:
        return f"{self.tree}{_BESIDE}/{_FILE}"


def faults_of_keys(
    folder: Folder, item: str, handler: str | None, files: Mapping[str, int], trees: Collection[str]
) -> tuple[list[Hole], list[Fault]]:
    """What is not there of the random keys in an item ("" is the step), and what Orbax does not read of them.

    Raises ContractLintError for JSON that is damaged.
    """
    holes: list[Hole] = []
    faults: list[Fault] = []
    for key in _keys(item, handler, files):
        if key.tree not in trees:
            holes.append(Hole("absent", "", f"it is a random key, and no array is in {key.tree}", key.tree))
        if key.file not in files:
            what = f"it is a random key, and {key.file} is not there, which says of what kind"
            holes.append(Hole("absent", "", what, key.file))
        elif key.word not in parse(folder, key.file, folder.read(key.file)):
            faults.append(Fault(key.file, f"has no `{key.word}`", then="Orbax restores no random key without it"))
    return holes, faults


def trees_of_keys(item: str, handler: str | None, files: Iterable[str]) -> set[str]:
    """Folders of an item that hold the array, or the tree, of a random key."""
    return {key.tree for key in _keys(item, handler, files)}


def _keys(item: str, handler: str | None, files: Iterable[str]) -> Iterator[_Key]:
    """The key that the item is declared to be, or those that lie in it under the name that Orbax gives them."""
    start = f"{item}/" if item else ""
    inside = [path for path in files if path.startswith(start)]
    declared = _HANDLER.fullmatch(handler or "")
    if declared is None:
        kinds = {name: kind for kind, name in _NAMES.items()}
        found = {(match["folder"] or "", match["name"]) for match in map(_KNOWN.fullmatch, inside) if match}
        yield from (_Key(place, name, _WORDS[kinds[name]]) for place, name in sorted(found))
        return
    names = sorted({path[len(start) :].partition("/")[0] for path in inside if "/" in path[len(start) :]})
    told = [name.removesuffix(_BESIDE) for name in names if name.endswith(_BESIDE)]
    name = next(iter([*told, *names]), _NAMES[declared["kind"]])
    yield _Key(item, name, _WORDS[declared["kind"]])
