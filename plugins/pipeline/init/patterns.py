"""Placements of many parameters as few rules: the shortest tails of paths that tell the placements apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Spec = tuple[tuple[str, ...], ...]
_DIGITS = re.compile(r"[0-9]+")
_DIGIT_PATTERN = "[0-9]+"


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """Parameters whose path ends with `pattern` are split over `spec`: mesh axes by dimension."""

    pattern: str
    spec: Spec
    count: int


def placement_rules(placements: Mapping[str, Spec]) -> list[PlacementRule]:
    """Rules that give every path of `placements` exactly its spec; no two of them match the same path.

    A number in a path stands for any number, as far as all of them are placed alike. Linear in paths times depth.
    """
    patterns = {path: [_component(part) for part in path.split("/")] for path in placements}
    by_tail: dict[tuple[str, ...], set[Spec]] = defaultdict(set)
    for path, spec in placements.items():
        for tail in _tails(patterns[path]):
            by_tail[tail].add(spec)
    grouped: dict[tuple[tuple[str, ...], Spec], int] = defaultdict(int)
    for path, spec in placements.items():
        tail = next((tail for tail in _tails(patterns[path]) if len(by_tail[tail]) == 1), None)
        # Numbered siblings that are placed differently need their numbers.
        exact = ("^" + "/".join(map(re.escape, path.split("/"))),)
        grouped[exact if tail is None else tail, spec] += 1
    return _merged((tail, spec, count) for (tail, spec), count in grouped.items())


def _merged(groups: Iterable[tuple[tuple[str, ...], Spec, int]]) -> list[PlacementRule]:
    """Tails that differ in their last component only, and are placed alike, as one alternative: `attn/(wk|wq)`."""
    siblings: dict[tuple[tuple[str, ...], Spec], list[tuple[str, int]]] = defaultdict(list)
    for tail, spec, count in groups:
        siblings[tail[:-1], spec].append((tail[-1], count))
    rules = []
    for (parent, spec), members in siblings.items():
        names = [name for name, _ in members]
        last = names[0] if len(names) == 1 else f"({'|'.join(names)})"
        rules.append(PlacementRule("/".join((*parent, last)), spec, sum(count for _, count in members)))
    return rules


def _tails(parts: list[str]) -> Iterable[tuple[str, ...]]:
    """The last component, the last two, ..., all of them."""
    return (tuple(parts[start:]) for start in range(len(parts) - 1, -1, -1))


def _component(part: str) -> str:
    return _DIGIT_PATTERN.join(re.escape(piece) for piece in _DIGITS.split(part))
