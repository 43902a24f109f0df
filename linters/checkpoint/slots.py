"""Which optimizer slot holds which parameter: slot x parameter, told by paths alone.

A leaf outside the parameters whose path ends with a parameter's is that parameter's entry in a slot: what is before it
names the slot (`opt_state/1/0/mu/layers/w` is `layers/w` in `mu`). The longest such end counts.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

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
    alone: tuple[str, ...] = ()
    """What else lies among the entries, named as a parameter would be that is not there."""


def slots_of(leaves: Mapping[str, Leaf], root: str, parameters: Collection[str]) -> dict[str, Slot]:
    """Slots by name. `parameters`: their paths below `root`."""
    found: dict[str, Slot] = {}
    roots: dict[str, str] = {}
    below = f"{root}/" if root else None
    trees = _trees(parameters)
    for path, leaf in leaves.items():
        if leaf.kind in ("text", "placeholder") or (below is not None and path.startswith(below)):
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
            roots[path[: -len(owner) - 1]] = name
    for slot in found.values():
        slot.masked.difference_update(slot.entries)
    alone = _alone(leaves, roots, root.rpartition("/")[2], parameters)
    return {name: replace(slot, alone=alone.get(name, ())) for name, slot in found.items() if slot.entries}


def _alone(
    leaves: Mapping[str, Leaf], roots: Mapping[str, str], own: str, parameters: Container[str]
) -> dict[str, tuple[str, ...]]:
    """Slot -> arrays among its entries that are no parameter's. `roots`: what entries lie below -> its slot.

    A number is none (an average keeps its decay there), nor is what another tree of the step has at the same path: a
    run may hold parameters in two places. `own` is what such a tree of parameters is called.
    """
    found: dict[str, set[str]] = {}
    elsewhere: set[str] = set()
    for path, leaf in leaves.items():
        ends = [at for at, each in enumerate(path) if each == "/"]
        root = next((path[:at] for at in ends if roots.get(path[:at], own) != own), None)
        if root is None:
            elsewhere.update(path[at + 1 :] for at in ends)
        elif leaf.kind == "array" and leaf.shape != () and path[len(root) + 1 :] not in parameters:
            found.setdefault(roots[root], set()).add(path[len(root) + 1 :])
    return {name: tuple(sorted(paths - elsewhere)) for name, paths in found.items()}


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
