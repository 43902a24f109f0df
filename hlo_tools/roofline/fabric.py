"""Where the devices of a target sit, and which wires join them: cores of a chip, chips of a slice or GPUs of a host,
and the network between slices or hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

from ...contracts.manifest import MeshFact
from ...contracts.target_name import TargetName

# jax numbers the devices of several slices from 100,000 times the slice's number, counted from one.
_SLICE_STRIDE = 100_000
PARTS = {"cuda": "hosts"}
"""What the network joins, by platform, where it is not slices."""


@dataclass(frozen=True, slots=True)
class Place:
    """One device: its slice or host, its chip (torus coordinates of a TPU, number of a GPU), its core in the chip."""

    part: int
    chip: tuple[int, ...]
    core: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """How one group of devices lies: cores of each chip, chips of each part, parts; and the wires between its chips.

    `lanes` are (dimension, links one device can send over along it): a torus dimension that the group closes to a ring
    has two, an open one has one. GPUs of a host share one lane, their NVLink.
    """

    cores: Fraction
    chips: Fraction
    parts: int
    lanes: tuple[tuple[str, int], ...]


def place(target: TargetName, device: int) -> Place:
    """Where a device sits, from its jax id: cores fastest, then x, y, z of the slice; GPUs host by host."""
    if target.platform == "cuda":
        host, number = divmod(device, target.sizes[-1])
        return Place(host, (number,))
    part, local = divmod(device, _SLICE_STRIDE) if device >= _SLICE_STRIDE else (0, device)
    local, core = divmod(local, target.kind.devices_per_chip)
    chip = []
    for size in target.sizes:
        local, coordinate = divmod(local, size)
        chip.append(coordinate)
    return Place(part, tuple(chip), core)


def parts_along(target: TargetName, mesh: MeshFact) -> dict[str, int]:
    """Axis of a mesh -> slices or hosts that its devices lie in, where that is more than one.

    Devices tell it by their numbers; of a target of one part, and of a mesh without numbers, what was asked for stands.
    """
    if target.groups < 2 or len(mesh.device_ids) != prod(mesh.axes.values()):
        return dict(mesh.dcn)
    parts = [place(target, device).part for device in mesh.device_ids]
    found: dict[str, int] = {}
    stride = len(parts)
    for axis, size in mesh.axes.items():
        block, stride = stride, stride // size
        starts = (begin + at for begin in range(0, len(parts), block) for at in range(stride))
        found[axis] = max(len({parts[at] for at in range(start, start + block, stride)}) for start in starts)
    return {axis: count for axis, count in found.items() if count > 1}


@lru_cache(maxsize=4096)
def span(target: TargetName, devices: tuple[int, ...]) -> Span:
    """How a group of devices lies in the target."""
    places = [place(target, device) for device in devices]
    chips = {(p.part, p.chip) for p in places}
    parts = {p.part for p in places}
    return Span(
        Fraction(len(devices), max(len(chips), 1)),
        Fraction(len(chips), max(len(parts), 1)),
        len(parts),
        _lanes(target, [chip for _, chip in chips]),
    )


def _lanes(target: TargetName, chips: Sequence[tuple[int, ...]]) -> tuple[tuple[str, int], ...]:
    if target.platform == "cuda":
        return (("NVLink", 1),)
    found = []
    for dimension, name in enumerate("xyzw"[: len(target.sizes)]):
        size = target.sizes[dimension]
        values = {chip[dimension] for chip in chips}
        if len(values) > 1:
            found.append((name, 2 if len(values) == size and closes(target, size) else 1))
    return tuple(found)


def closes(target: TargetName, size: int) -> bool:
    """Whether a torus dimension of this size has a link from its last chip back to its first."""
    return bool(target.kind.ring) and size > 2 and size % target.kind.ring == 0


def crossing(target: TargetName, pairs: Iterable[tuple[int, ...]]) -> tuple[bool, dict[str, int]]:
    """Of (source, target) pairs: whether any crosses between parts, and the lanes that the others leave over.

    A permutation may send both ways along a dimension, so it has two links where a chip has two neighbours.
    """
    network = False
    lanes: dict[str, int] = {}
    for source, destination in pairs:
        a, b = place(target, source), place(target, destination)
        if a.part != b.part:
            network = True
        elif a.chip != b.chip and target.platform == "cuda":
            lanes["NVLink"] = 1
        else:
            for dimension, name in enumerate("xyzw"[: len(target.sizes)]):
                if a.chip[dimension] != b.chip[dimension]:
                    lanes[name] = 2 if target.sizes[dimension] > 2 else 1
    return network, lanes
