"""What a checkpoint is, as its metadata tells: steps, items, leaves, and what is not there of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Literal

from ...contracts.finding import Severity
from ...contracts.model.checkpoint import Layout
from .copies import without_left
from .stored import Extent

LeafKind = Literal["array", "text", "empty", "placeholder"]
StepState = Literal["committed", "temporary", "unfinished"]
_BITS = re.compile(r"\d+")
"""The first number in the name of a dtype."""
MARKER = "commit_success.txt"
"""In each step and item that object storage has committed."""


@dataclass(frozen=True, slots=True)
class Placed:
    """How an array lay on devices when it was saved; without axes on one."""

    mesh: Mapping[str, int] = field(default_factory=dict)
    """Axis -> size."""
    spec: tuple[tuple[str, ...], ...] = ()
    """For each dimension the axes it was split over, outermost first; those that are left out were not split."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of the saved tree. `shape` is global, never that of a shard; None where nothing stored tells it.

    `empty` is what a tree holds without an array: None, an empty container, a masked optimizer slot; `placeholder` an
    array that was left out on purpose (`...`), which Orbax names and does not store.
    """

    path: str
    kind: LeafKind = "array"
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    name: str = ""
    """What its store calls it."""
    version: int = 2
    """Of zarr."""
    extent: Extent | None = None
    """Where its bytes lie, if they lie together."""
    placed: Placed | None = None
    """None where nothing tells."""
    text: str | None = None
    """What one that is a text says; None where that is not there."""

    @property
    def elements(self) -> int:
        """How many there are; 0 where no shape is known."""
        return prod(self.shape) if self.shape is not None else 0

    @property
    def bytes(self) -> int:
        """What the elements take one behind the other, be they of fewer than eight bits; 0 where no dtype is known."""
        bits = _BITS.search(self.dtype or "")
        return -(-self.elements * int(bits[0]) // 8) if bits is not None else self.elements * (self.dtype == "bool")


@dataclass(frozen=True, slots=True)
class Hole:
    """Elements of a leaf that no shard holds, that two hold, or whose shard is cut. `where` is a file.

    `unstored`: no shard holds them, and none need: they read as the fill value, as do those of a shard that is lost.
    `damaged`: an index that says where elements lie cannot be decoded.
    `outside`: a shard holds what the leaf has no element for. `unread`: there are arrays that nothing here can read.
    `other`: in the place of what was saved is something else.
    """

    kind: Literal["absent", "twice", "cut", "damaged", "unstored", "outside", "placeholder", "unread", "other"]
    leaf: str
    what: str
    where: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A file beside the arrays that whoever restores them cannot read. `place`: line and column, where they are known.

    `severity`: an error where every restore of jax arrays reads it, a warning where one does that does not say where
    its arrays go, information where none has to. `then`: what comes of it, where it is something else.
    """

    file: str
    what: str
    place: str = ""
    severity: Severity = "error"
    then: str = ""
    kind: str = ""
    """Tells several of one file apart."""
    help: str = ""
    """What to do, where it is something else than to bring the file back."""


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Arrays that are stored and that `by` (a tree, an index) does not name. `lost`: they look as if it should."""

    by: str
    names: tuple[str, ...]
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One part of a step: a tree of arrays (`layout` says how it is stored), or files of another kind (None)."""

    name: str
    layout: Layout | None
    leaves: Mapping[str, Leaf]
    holes: tuple[Hole, ...] = ()
    unlisted: tuple[Unlisted, ...] = ()
    faults: tuple[Fault, ...] = ()
    fixed: bool = False
    """Whether what saved it knows one layout, whatever was chosen for trees: a random key, an array by itself."""
    notes: tuple[str, ...] = ()
    """Keys of what .safetensors files say of themselves beside their arrays."""

    def named(self, path: str) -> str:
        """A path of this item as a path of the step."""
        return "/".join(part for part in (self.name, path) if part)


@dataclass(frozen=True, slots=True)
class Step:
    """One saved step by its folder. `why` says what an unfinished one lacks."""

    folder: str
    number: int | None
    state: StepState
    why: str = ""
    marked: bool = False
    """Whether commit_success.txt is in it."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk: all steps that lie together, and the one that was read."""

    path: str
    step: Step
    items: tuple[Item, ...]
    absent_items: tuple[str, ...]
    """Items that the step says it has, and that are not there."""
    files: Mapping[str, int]
    """Files of the step, by path: bytes."""
    steps: tuple[Step, ...] = ()
    """All steps of the folder above, oldest first; empty where one step was named."""
    leftovers: tuple[str, ...] = ()
    """Temporary files and folders, relative to `path`."""
    faults: tuple[Fault, ...] = ()
    """What is wrong of what the step says of itself."""

    @cached_property
    def leaves(self) -> dict[str, Leaf]:
        """All leaves by their path in the step."""
        return {item.named(path): leaf for item in self.items for path, leaf in item.leaves.items()}

    @cached_property
    def arrays(self) -> dict[str, Leaf]:
        """The leaves that are arrays."""
        return {path: leaf for path, leaf in self.leaves.items() if leaf.kind == "array"}

    @property
    def place(self) -> Path:
        """The folder of the step, or the one file that it is."""
        return Path(self.path, self.step.folder) if self.steps else Path(self.path)

    @property
    def folder(self) -> Path:
        """Where the files of the step lie."""
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def latest(self) -> Step | None:
        """The newest committed step."""
        committed = [step for step in self.steps if step.state == "committed"]
        return committed[-1] if committed else None

    @property
    def elements(self) -> int:
        """Elements of all arrays together."""
        return sum(leaf.elements for leaf in self.arrays.values())

    def paths(self, path: str) -> Iterator[str]:
        """What a path of a contract may be in the step: as it is, or without the name of its item, or without the
        first part of all paths of an item: what was converted has the name of the item there. `.` is the step."""
        plain = "/".join(part for part in path.split("/") if part not in ("", "."))
        yield plain
        for item in self.items:
            tops = {each.partition("/")[0] for each in item.leaves}
            for start in (item.name, item.named(tops.pop()) if len(tops) == 1 else ""):
                if start:
                    yield f"{start}/{plain}" if plain else start

    def has(self, path: str) -> bool:
        """Whether something is saved at a path of a contract: a leaf, a tree, an item or a file."""
        return any(each in self.saved for each in self.paths(path))

    @cached_property
    def saved(self) -> set[str]:
        """Every path that something is saved at or below."""
        kept = [path for path, leaf in self.leaves.items() if leaf.kind in ("array", "text")]
        # A marker says that something was saved; it is not what was. Nor is what a copy left.
        kept += [path for path, size in without_left(self.files).items() if size and path.rpartition("/")[2] != MARKER]
        found: set[str] = set()
        for path in kept:
            while path and path not in found:
                found.add(path)
                path = path.rpartition("/")[0]
        return found
