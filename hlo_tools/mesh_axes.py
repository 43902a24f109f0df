"""Which mesh axes a collective runs over, found from device numbers alone; the names a program prints prove nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Literal

from ..contracts.manifest import MeshFact
from .replica_groups import Groups, canonical_groups

Axes = tuple[str, ...] | Literal["irregular"] | None


def axes_of(groups: Groups, mesh: MeshFact) -> Axes:
    """The axes, in mesh order, along which the members of a group differ.

    `groups` holds partition numbers: flat positions in the mesh, last axis fastest. A part of an axis is written as
    Shardy does, `fsdp:(1)2`: pre-size 1, size 2. `()` where every group has one member; "irregular" where the groups
    are no product of axes; None where the mesh has another number of devices than the groups.
    """
    return _axes_of(groups, tuple(mesh.axes.items()))


def axes_of_pairs(pairs: Groups, mesh: MeshFact) -> Axes:
    """The axes along which any source and target of a permutation differ; () where nothing moves."""
    names, sizes = tuple(mesh.axes), tuple(mesh.axes.values())
    total = prod(sizes)
    if any(not 0 <= device < total for pair in pairs for device in pair):
        return None
    moved: set[str] = set()
    for source, target in pairs:
        if source == target:
            continue
        before, after = _coordinates(source, sizes), _coordinates(target, sizes)
        moved.update(name for name, a, b in zip(names, before, after, strict=True) if a != b)
    return tuple(name for name in names if name in moved)


@lru_cache(maxsize=4096)
def _axes_of(groups: Groups, axes: tuple[tuple[str, int], ...]) -> Axes:
    names = [name for name, _ in axes]
    sizes = tuple(size for _, size in axes)
    total = prod(sizes)
    members = [device for group in groups for device in group]
    if not groups:
        return tuple(name for name, size in axes if size > 1)
    if len(members) != total or set(members) != set(range(total)):
        return "irregular" if all(0 <= d < total for d in members) else None
    first = next(group for group in groups if 0 in group)
    coordinates = [_coordinates(device, sizes) for device in first]
    spans: list[tuple[int, int, int]] = []
    found: list[str] = []
    for axis, name in enumerate(names):
        values = sorted({c[axis] for c in coordinates})
        pieces = _pieces(values, sizes[axis])
        if pieces is None:
            return "irregular"
        for stride, count in pieces:
            spans.append((axis, stride, count))
            whole = count == sizes[axis]
            found.append(name if whole else f"{name}:({sizes[axis] // (stride * count)}){count}")
    expected = _groups_over(spans, sizes)
    return tuple(found) if canonical_groups(groups) == canonical_groups(expected) else "irregular"


def likely_sizes(all_groups: Iterable[Groups], devices: int) -> tuple[int, ...]:
    """Sizes of axes, outermost first, that these groups are products of; one axis where they do not fit together.

    Every group of evenly spaced devices cuts the flat numbers at its stride and at its end.
    """
    cuts = {1, devices}
    for groups in all_groups:
        pieces = _pieces(sorted(next((group for group in groups if 0 in group), ())), devices)
        if pieces is None:
            return (devices,)
        cuts.update(cut for stride, count in pieces for cut in (stride, stride * count))
    ordered = sorted(cuts, reverse=True)
    if any(larger % smaller for larger, smaller in pairwise(ordered)):
        return (devices,)
    return tuple(larger // smaller for larger, smaller in pairwise(ordered)) or (devices,)


def _coordinates(device: int, sizes: Sequence[int]) -> tuple[int, ...]:
    found = []
    for size in reversed(sizes):
        device, place = divmod(device, size)
        found.append(place)
    return tuple(reversed(found))


def _pieces(values: list[int], size: int) -> list[tuple[int, int]] | None:
    """The (stride, count) pieces, major first, whose sums are exactly `values`; None where there are none.

    Values of one sub-axis are 0, stride, 2 stride, ...; several sub-axes add up.
    """
    pieces: list[tuple[int, int]] = []
    rest = values
    present = set(values)
    while len(rest) > 1:
        stride = rest[1]
        count = 1
        while count * stride in present:
            count += 1
        covered = {i * stride for i in range(count)}
        if size % stride or (size // stride) % count:
            return None
        outer = [v for v in rest if v % (stride * count) == 0]
        if {o + c for o in outer for c in covered} != set(rest):
            return None
        pieces.append((stride, count))
        rest = outer
        present = set(outer)
    return pieces[::-1]


def _groups_over(spans: list[tuple[int, int, int]], sizes: Sequence[int]) -> Groups:
    strides = [prod(sizes[a + 1 :]) for a in range(len(sizes))]
    offsets = [0]
    for axis, stride, count in spans:
        step = strides[axis] * stride
        offsets = [base + i * step for base in offsets for i in range(count)]
    members, groups = set(), []
    for device in range(prod(sizes)):
        if device in members:
            continue
        group = tuple(device + offset for offset in offsets)
        members.update(group)
        groups.append(group)
    return tuple(groups)
