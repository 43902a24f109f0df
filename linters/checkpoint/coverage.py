"""The matrix slot x parameter: what the rule on slots judges, and what `checkpoint check` shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .facts import Leaf
from .promised import Promise
from .slots import Slot

State = Literal["covered", "missing", "not stored", "other shape", "masked", "frozen"]
STATES: tuple[State, ...] = ("covered", "missing", "not stored", "other shape", "masked", "frozen")
"""`not stored`: the tree names it, and there is no array."""
_LAYER = re.compile(r"(?:(?<=[/_])|^)\d+(?=/|$)")
"""A part of a path that is a number, or ends with one behind `_`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One parameter in one slot. `path`, `shape` and `dtype` are of what is saved there, None where nothing is."""

    state: State
    path: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One slot, or the parameters themselves: parameter -> cell, over all that are saved or promised."""

    name: str
    cells: Mapping[str, Cell]

    def of(self, state: State) -> list[str]:
        """The parameters whose cell says so."""
        return [path for path, cell in self.cells.items() if cell.state == state]


@dataclass(frozen=True, slots=True)
class Coverage:
    """`slots` are those that must cover every parameter that is not frozen."""

    parameters: Row
    slots: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """What the matrix is of: parameters that are saved below `root` or promised, slots, and which slots are expected -
    whether with the shapes of the parameters."""

    root: str
    parameters: Mapping[str, Leaf]
    promised: Mapping[str, Promise]
    slots: Mapping[str, Slot]
    expected: Mapping[str, bool]
    is_frozen: Callable[[str], bool]


def coverage_of(sides: Sides) -> Coverage:
    """The whole matrix; without slots where the contract promises none and none is known by its name."""
    start = f"{sides.root}/" if sides.root else ""
    saved = {path: _saved(leaf, f"{start}{path}") for path, leaf in sides.parameters.items()}
    paths = dict.fromkeys([*saved, *sides.promised])
    parameters = {path: saved.get(path, Cell("missing")) for path in paths}
    rows = [
        Row(name, {path: _cell(sides, sides.slots.get(name, Slot(name)), path, same) for path in paths})
        for name, same in sides.expected.items()
    ]
    return Coverage(Row("parameters", parameters), tuple(rows))


def over_layers(paths: Iterable[str]) -> list[tuple[str, int]]:
    """Paths that differ in numbers only as one, and how many each stands for: `layers/*/w`, 24."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(_LAYER.sub("*", path), []).append(path)
    return [(folded if len(group) > 1 else group[0], len(group)) for folded, group in groups.items()]


def _cell(sides: Sides, slot: Slot, path: str, same_shape: bool) -> Cell:
    entry = slot.entries.get(path)
    if entry is not None:
        fits = not same_shape or _fits(sides, entry, path)
        return _saved(entry, slot.paths[path], "covered" if fits else "other shape")
    if path in slot.masked:
        return Cell("masked")
    return Cell("frozen" if sides.is_frozen(path) else "missing")


def _fits(sides: Sides, entry: Leaf, path: str) -> bool:
    """Whether an entry has the shape that its parameter has, or the one that it should have."""
    parameter, promise = sides.parameters.get(path), sides.promised.get(path)
    known: Sequence[tuple[int, ...] | None] = [each.shape for each in (parameter, promise) if each is not None]
    return None in known or entry.shape in known


def _saved(leaf: Leaf, path: str, state: State = "covered") -> Cell:
    return Cell(state if leaf.shape is not None else "not stored", path, leaf.shape, leaf.dtype)
