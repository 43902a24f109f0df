"""Which optimizer slot holds which parameter: slot x parameter, told by paths alone.

A leaf outside the parameters whose path ends with a parameter's is that parameter's entry in a slot: what is before it
names the slot (`opt_state/1/0/mu/layers/w` is `layers/w` in `mu`). The longest such end counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from .facts import Leaf

LIKE_PARAMETERS = ("mu", "nu", "nu_max", "trace", "momentum", "sum_of_squares", "acc_grads", "ema", "params_ema")
"""What optax and its users call arrays that have the shapes of the parameters."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One optimizer slot: parameter -> its entry. Entries of several parts of an optimizer are put together."""

    name: str
    entries: dict[str, Leaf] = field(default_factory=dict)
    masked: set[str] = field(default_factory=set)
    """Parameters whose entry is declared empty: the optimizer passes them over."""
    paths: dict[str, str] = field(default_factory=dict)
    """Parameter -> path of its entry."""


def slots_of(leaves: Mapping[str, Leaf], root: str, parameters: Mapping[str, Leaf]) -> dict[str, Slot]:
    """Slots by name. `parameters`: path below `root` -> leaf."""
    found: dict[str, Slot] = {}
    below = f"{root}/" if root else None
    trees = _trees(parameters)
    for path, leaf in leaves.items():
        if leaf.kind == "text" or (below is not None and path.startswith(below)):
            continue
        # An optimizer that passes over a whole part of the tree has one empty entry for it.
        owner = _owner(path, trees if leaf.kind == "empty" else parameters)
        if owner is None:
            continue
        name = path[: -len(owner) - 1].rpartition("/")[2]
        slot = found.setdefault(name, Slot(name))
        if leaf.kind == "empty":
            slot.masked.update(trees[owner])
        else:
            slot.entries[owner] = leaf
            slot.paths[owner] = path
    for slot in found.values():
        slot.masked.difference_update(slot.entries)
    return {name: slot for name, slot in found.items() if slot.entries}


def _trees(parameters: Iterable[str]) -> dict[str, list[str]]:
    """Every parameter and every folder of parameters -> the parameters at or below it."""
    found: dict[str, list[str]] = {}
    for path in parameters:
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            found.setdefault("/".join(parts[:length]), []).append(path)
    return found


def _owner(path: str, parameters: Container[str]) -> str | None:
    at = path.find("/")
    while at >= 0:
        if path[at + 1 :] in parameters:
            return path[at + 1 :]
        at = path.find("/", at + 1)
    return None
