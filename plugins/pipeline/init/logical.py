"""The step's own names for the dimensions of its parameters, where they explain how every parameter is split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from .patterns import Spec

Names = Sequence[str | None]


def named_placements(
    placements: Mapping[str, Spec], names: Mapping[str, Names]
) -> tuple[dict[str, Spec], dict[str, list[str]]]:
    """Placements with the mesh axes of a dimension replaced by its name, and the mesh axes of each name used.

    placements: path -> mesh axes of each dimension. names: path -> the name of each dimension, None where it has none.
    A name that means different mesh axes in different places is not used: those dimensions keep their mesh axes. So
    does every parameter without names.
    """
    seen: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for path, spec in placements.items():
        for name, axes in _pairs(names.get(path), spec):
            seen[name].add(axes)
    clear = {name: next(iter(axes)) for name, axes in seen.items() if len(axes) == 1}
    named: dict[str, Spec] = {}
    used: dict[str, list[str]] = {}
    for path, spec in placements.items():
        of_path = names.get(path) or [None] * len(spec)
        if len(of_path) != len(spec):
            named[path] = spec
            continue
        named[path] = tuple((n,) if n in clear else axes for n, axes in zip(of_path, spec, strict=True))
        used |= {name: list(clear[name]) for name in of_path if name in clear}
    return named, used


def _pairs(names: Names | None, spec: Spec) -> list[tuple[str, tuple[str, ...]]]:
    if names is None or len(names) != len(spec):
        return []
    return [(name, axes) for name, axes in zip(names, spec, strict=True) if name is not None]
