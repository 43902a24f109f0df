"""Which part of a restored state began anew while the parameters were taken up: a warm start, whatever was saved.

A number equal to the bit to that of a run before its first step was not restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..checkpoint.root import PARAMETERS
from ..checkpoint.slots import LIKE_PARAMETERS

_COUNTED = frozenset({"step", "steps", "count", "rng", "key", "keys", "seed", "tokens", "epoch", "iteration"})
"""What the last name of a leaf says that is no parameter of a state without `params`."""


def began_anew(saved: Mapping[str, str], restored: Mapping[str, str], fresh: Mapping[str, str]) -> tuple[str, ...]:
    """The arrays that a warm start left as in a fresh run; none where a restore is whole, or wrong in another way.

    A warm start leaves every parameter as it was saved, and the optimizer's state (or, without one, all else) as it is
    in a new run. One that takes up a part of that is no warm start: it was meant to go on, and forgot the rest.
    """
    other = tuple(path for path in saved if restored.get(path) != saved[path])
    if not other or any(path not in restored or restored[path] != fresh.get(path) for path in other):
        return ()
    told = [path for path in saved if saved[path] != fresh.get(path)]
    kept = set(told).difference(other)
    kinds = Kinds(tuple(saved))
    if not kinds.parameters.intersection(kept) or kinds.parameters.intersection(other):
        return ()
    rest = [path for path in told if path not in kinds.parameters]
    whole = [path for path in rest if path in kinds.slots] or rest
    return other if kept.isdisjoint(whole) else ()


@dataclass(frozen=True)
class Kinds:
    """Arrays of a state by what their names say."""

    paths: tuple[str, ...]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters: those below `params`, else all beside an optimizer's state that are no counts and keys."""
        free = [path for path in self.paths if not _names_a_slot(path)]
        below = {path for path in free if PARAMETERS in path.split("/")}
        if below or len(free) == len(self.paths):
            return frozenset(below)
        return frozenset(path for path in free if path.rpartition("/")[2] not in _COUNTED)

    @cached_property
    def slots(self) -> frozenset[str]:
        """The optimizer's state: named so, or named as a parameter behind something else."""
        ends = {path.split(f"{PARAMETERS}/", 1)[-1] for path in self.parameters}
        rest = [path for path in self.paths if path not in self.parameters]
        return frozenset(path for path in rest if _names_a_slot(path) or _tails(path) & ends)


def _names_a_slot(path: str) -> bool:
    return any(part in LIKE_PARAMETERS or part.startswith("opt") for part in path.split("/"))


def _tails(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[at:]) for at in range(1, len(parts))}
