"""Counts of steps that an optimizer keeps beside its slots, where its state has the form that optax gives it.

A chain of optax is a tuple, so each of its parts lies below a number: `opt_state/0/mu/...` and `opt_state/0/count`
(Adam's), `opt_state/2/count` (the schedule's). Of another form nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...contracts.plan.tensors import COUNTED, SLOTS
from .evidence import CheckpointEvidence
from .root import VALUE

_COUNT = "count"


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A count that the contract promises and that is not saved: whose it is, and where it should lie."""

    whose: str
    place: str
    expected: str
    key: str


def uncounted(evidence: CheckpointEvidence) -> list[Uncounted]:
    """What is missing: the count of each part that has all of the optimizer's slots, and the schedule's."""
    optimizer = evidence.contract.optimizer if evidence.contract is not None else None
    if optimizer is None:
        return []
    arrays = {path.removesuffix(VALUE) for path in evidence.checkpoint.arrays}
    parts = _parts(evidence, SLOTS[optimizer.name])
    found: list[Uncounted] = []
    own = [f"{part}/{_COUNT}" for part in parts] if optimizer.name in COUNTED else []
    found += [Uncounted(optimizer.name, place, place, "optimizer.name") for place in own if place not in arrays]
    if parts and optimizer.counts_schedule:
        tops = sorted({_top(evidence.root or "", part) for part in parts})
        if not any(_counts(arrays, top) - {*own} for top in tops):
            more = f"{len(own) + 1:,} counts" if own else "a count"
            found.append(Uncounted("the schedule", tops[0], f"{more} below {tops[0]}", "optimizer.schedule"))
    return found


def _parts(evidence: CheckpointEvidence, names: Collection[str]) -> list[str]:
    """The parts of a chain that have all of these slots, as paths of the step."""
    by_name: list[set[str]] = []
    for name in names:
        slot = evidence.slots.get(name)
        ends = {path[: -len(f"/{name}/{owner}")] for owner, path in slot.paths.items()} if slot is not None else set()
        by_name.append({part for part in ends if part.rpartition("/")[2].isdecimal()})
    return sorted(set.intersection(*by_name)) if by_name else []


def _top(root: str, part: str) -> str:
    """What the whole state of the optimizer lies below: what is beside the parameters, above this part of it."""
    above = root.rpartition("/")[0]
    start = f"{above}/" if above and part.startswith(f"{above}/") else ""
    return start + part.removeprefix(start).partition("/")[0]


def _counts(arrays: Collection[str], top: str) -> set[str]:
    return {path for path in arrays if path.startswith(f"{top}/") and path.endswith(f"/{_COUNT}")}
