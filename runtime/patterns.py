"""Placement rules from placed parameters: the fewest patterns that give every parameter the axes it was found with."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

Spec = tuple[tuple[str, ...], ...]


def placement_rules(found: Mapping[str, Spec]) -> list[tuple[str, Spec]]:
    """(pattern, placement) in an order in which the first match is right for every path of `found`.

    A pattern is matched against the end of a path at a `/` boundary, as in `parameters.rules`. Candidates are the tails of
    each path (`kernel`, `attn/kernel`) and `layers/.*/kernel`; numbers match any number. A candidate counts if all paths
    it matches have one placement; the ones that serve most paths are taken first.
    """
    matched: dict[str, set[str]] = {}
    tails: dict[str, set[str]] = defaultdict(set)
    by_ends: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in found:
        parts = [_generalised(part) for part in path.split("/")]
        for length in range(1, len(parts) + 1):
            tails["/".join(parts[-length:])].add(path)
        for start in range(len(parts) - 2):
            by_ends[parts[start], parts[-1]].add(path)
    matched |= tails
    matched |= {f"{first}/.*/{last}": paths for (first, last), paths in by_ends.items()}
    valid = {
        pattern: paths for pattern, paths in matched.items() if len({found[path] for path in paths}) == 1
    }
    rules: list[tuple[str, Spec]] = []
    left = set(found)
    while left:
        pattern = min(
            (p for p, paths in valid.items() if paths & left),
            key=lambda p: (-len(valid[p] & left), _preference(p), p),
        )
        rules.append((pattern, found[next(iter(valid[pattern]))]))
        left -= valid[pattern]
    return rules


def _generalised(part: str) -> str:
    return r"\d+" if part.isdecimal() else re.escape(part).replace(r"\-", "-")


def _preference(pattern: str) -> tuple[int, int]:
    """Among equals: a name with what it belongs to, then longer tails, then a bare name."""
    parts = pattern.count("/") + 1
    return (0 if parts == 2 else 1 if parts > 2 and ".*" not in pattern else 2, parts)


def logical_names(specs: Sequence[Spec], mesh_axes: Sequence[str]) -> dict[tuple[str, ...], str]:
    """A logical name for every dimension placement that takes several mesh axes; single axes go by their own name."""
    names: dict[tuple[str, ...], str] = {}
    for axes in sorted({axes for spec in specs for axes in spec if len(axes) > 1}):
        name = "_".join(axes)
        while name in mesh_axes or name in names.values():
            name += "_"
        names[axes] = name
    return names
