"""`checkpoint convert`: each array under its new name in the other layout, read again and compared before it counts."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....linters.checkpoint.facts import MARKER, Checkpoint, Item, Leaf
from ....linters.checkpoint.read import read_checkpoint
from ....linters.checkpoint.safetensors import SUFFIX
from ....linters.checkpoint.values import Values
from ....linters.cut import in_a_line
from .mapping import Mapped, MappingRule, mapped, read_mapping
from .orbax import write_orbax
from .safetensors import write_safetensors

Told = Callable[[str], None]
_SHOWN = 5
_INFORM = ("unstored", "unread")
"""Holes that take nothing from the arrays that are read."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written; `dropped` are arrays that rules left out, `others` what has no array, `empty` counts what a
    tree holds without one, `notes` are keys of what .safetensors files say of themselves."""

    out: str
    layout: str
    arrays: int
    bytes: int
    dropped: tuple[str, ...]
    others: tuple[str, ...]
    empty: int
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """`out: 12 arrays, 1,024 B as zarr, every bit as it was`."""
        parts = [f"{self.arrays:,} array{'s' * (self.arrays != 1)}, {self.bytes:,} B as {self.layout}"]
        parts += ["every bit as it was"]
        parts += [f"{len(self.dropped):,} left out by the mapping"] if self.dropped else []
        parts += [f"left out what is no array ({in_a_line(self.others, _SHOWN)})"] if self.others else []
        parts += [f"{self.empty:,} empty node{'s' * (self.empty != 1)} left out"] if self.empty else []
        parts += [f"what the file says of itself left out ({in_a_line(self.notes, _SHOWN)})"] if self.notes else []
        return f"{self.out}: {', '.join(parts)}"


class _Source:
    """The arrays of a checkpoint by their path, and their bytes; digests of what was read."""

    def __init__(self, path: str, step: int | None) -> None:
        self.checkpoint = read_checkpoint(path, step=step)
        self.arrays = self.checkpoint.arrays
        self._items = {item.named(at): item for item in self.checkpoint.items for at in item.leaves}
        self._values: dict[str, Values] = {}
        self.digests: dict[str, str] = {}
        self.bytes = 0

    def read(self, path: str) -> Iterator[bytes]:
        item = self._items[path]
        if item.name not in self._values:
            self._values[item.name] = Values(self.checkpoint, item)
        digest = hashlib.sha256()
        for block in self._values[item.name].raw(self.arrays[path]):
            digest.update(block)
            self.bytes += len(block)
            yield block
        self.digests[path] = digest.hexdigest()


def convert(
    source: str,
    out: str,
    *,
    mapping: str | None = None,
    reverse: bool = False,
    step: int | None = None,
    separator: str = ".",
    on_progress: Told | None = None,
) -> Converted:
    """Write the arrays of `source` to `out`: a file that ends in .safetensors, else a folder as Orbax restores it.

    Nothing lies at `out` before all is written, read again and found equal. Raises ContractLintError for what cannot be
    read, is not whole, is named by no rule or has no word in the other layout, and where something is at `out` already.
    """
    tell = on_progress or (lambda _: None)
    if os.path.lexists(out):
        raise ContractLintError("is there already", Location(out), "name another place: nothing is replaced")
    rules = read_mapping(mapping, reverse=reverse) if mapping is not None else None
    found = _Source(source, step)
    names, others = _names(found.checkpoint, rules)
    leaves = {name: found.arrays[path] for path, name in names.names.items()}
    back = {name: path for path, name in names.names.items()}
    target = Path(out)
    single = target.suffix == SUFFIX
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.orbax-checkpoint-tmp{SUFFIX if single else ''}")

    def read(name: str) -> Iterator[bytes]:
        tell(f"writing {name}")
        return found.read(back[name])

    try:
        if single:
            write_safetensors(unfinished, leaves, read, separator, source)
        else:
            write_orbax(unfinished, leaves, read, source)
        _same(unfinished, leaves, {name: found.digests[path] for name, path in back.items()}, out, tell)
        _put(unfinished, target)
    except OSError as error:
        raise ContractLintError(f"cannot be written: {error.strerror or error}", Location(out)) from error
    finally:
        _removed(unfinished)
    empty = sum(leaf.kind == "empty" for leaf in found.checkpoint.leaves.values())
    notes = tuple(note for item in found.checkpoint.items for note in item.notes)
    layout = "safetensors" if single else "zarr"
    return Converted(out, layout, len(leaves), found.bytes, names.dropped, others, empty, notes)


def _names(checkpoint: Checkpoint, rules: tuple[MappingRule, ...] | None) -> tuple[Mapped, tuple[str, ...]]:
    """The new name of each array, and what is none. Arrays that cannot be read here must be left out by a rule."""
    holes = [hole for item in checkpoint.items for hole in item.holes if hole.kind not in _INFORM]
    if holes or checkpoint.absent_items or checkpoint.step.state != "committed":
        said = f"is not whole: {holes[0].what}" if holes else "is not whole"
        help = f"see: contract-lint checkpoint check {checkpoint.path}"
        raise ContractLintError(said, Location(checkpoint.path), help)
    others = [path for path, leaf in checkpoint.leaves.items() if leaf.kind == "text"]
    unread: list[str] = []
    for item in checkpoint.items:
        if item.layout is None:
            cannot = any(hole.kind == "unread" for hole in item.holes)
            (unread if cannot else others).extend(_without_arrays(checkpoint, item))
    unknown = [path for path, leaf in checkpoint.arrays.items() if leaf.shape is None or leaf.dtype is None]
    if unknown:
        raise ContractLintError(
            f"no shape or dtype is stored of {in_a_line(unknown, _SHOWN)}", Location(checkpoint.path)
        )
    if [*checkpoint.arrays] == [""]:
        help = "save it in a tree, `{name: array}`"
        raise ContractLintError("is one array that has no name", Location(checkpoint.path), help)
    names = mapped([*checkpoint.arrays, *unread], rules, checkpoint.path, _only(checkpoint), others)
    kept = [path for path in unread if path in names.names]
    if kept:
        drops = [f'`{{ from: "{path}", drop: true }}`' for path in kept]
        help = (
            f"leave {'it' if len(kept) == 1 else 'them'} out by a mapping, {in_a_line(drops, _SHOWN)}, and keep what "
        )
        help += 'is behind with `{ from: "**", to: "**" }`'
        raise ContractLintError(
            f"no array that can be read is in {in_a_line(kept, _SHOWN)}", Location(checkpoint.path), help
        )
    if not names.names:
        raise ContractLintError("there is no array to convert", Location(checkpoint.path))
    return names, tuple(others)


def _only(checkpoint: Checkpoint) -> str:
    """What the paths of the one tree begin with that rules may leave out; "" where there are more trees."""
    trees = [item.name for item in checkpoint.items if item.leaves]
    return f"{trees[0]}/" if len(trees) == 1 and trees[0] else ""


def _without_arrays(checkpoint: Checkpoint, item: Item) -> list[str]:
    """An item that is no tree, or, where trees lie in it, the folders beside them."""
    trees = tuple(f"{each.name}/" for each in checkpoint.items if each.layout is not None)
    start = f"{item.name}/"
    if not any(tree.startswith(start) for tree in trees):
        return [item.name]
    files = [path for path in checkpoint.files if path.startswith(start) and not path.startswith(trees)]
    return sorted({above for above, _, name in (path.rpartition("/") for path in files) if name != MARKER})


def _same(path: Path, leaves: dict[str, Leaf], digests: dict[str, str], out: str, tell: Told) -> None:
    """Read what was written and compare. A difference would be our own fault, or the disk's."""
    written = _Source(str(path), None)
    if {name: (leaf.shape, leaf.dtype) for name, leaf in written.arrays.items()} != {
        name: (leaf.shape, leaf.dtype) for name, leaf in leaves.items()
    }:
        raise ContractLintError("what was written has other arrays when it is read again", Location(out))
    for name in leaves:
        tell(f"comparing {name}")
        for _ in written.read(name):
            pass
        if written.digests[name] != digests[name]:
            raise ContractLintError(
                f"{name} has other bytes when it is read again", Location(out), "is the disk sound?"
            )


def _put(unfinished: Path, target: Path) -> None:
    """Give it its name. Raises OSError where something has taken that meanwhile."""
    if unfinished.is_dir():
        if os.path.lexists(target):
            raise FileExistsError(0, "something has taken its place meanwhile")
        unfinished.rename(target)
        return
    os.link(unfinished, target)


def _removed(unfinished: Path) -> None:
    if unfinished.is_dir():
        shutil.rmtree(unfinished, ignore_errors=True)
    else:
        # Where it could not be made, it cannot be removed; why is told by what failed first.
        with suppress(OSError):
            unfinished.unlink()
