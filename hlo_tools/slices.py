"""Programs for several TPU slices: what one slice's program says about the devices of all.

libtpu partitions for all slices together and then makes one program for each slice. In it `num_partitions` and the
groups of collectives number the devices of that slice alone, and what crosses the data-centre network (DCN) is a `send`
and a `recv` to a host transfer of megascale, whose target names slices and devices:

    _xla_megascale_transfer_type="ALL_REDUCE", _xla_megascale_target="{1,2}x{0:7}"           device d of every slice
    _xla_megascale_transfer_type="ALL_TO_ALL", _xla_megascale_target={{100000,200001},...}   the members of each group
    _xla_megascale_transfer_type="ONE_TO_ONE", _xla_megascale_target={{100000->200000},...}  device to device

Groups are listed where no product makes them: they hold several devices of a slice (every all-to-all, gathers whose
order goes in and out of slices), or slices that the mesh does not number alike.

A device of several slices has the number slice * 100,000 + its number in the slice, slices counted from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ..contracts.manifest import MeshFact
from .instruction import Instruction
from .replica_groups import Groups

_SLICE = 100_000
RENDEZVOUS = "_xla_host_transfer_rendezvous"
"""The attribute by which a send and its receive find each other."""
_HANDLER = "xla_megascale_runtime"
_TRANSFER = "_xla_megascale_transfer_type"
_TARGET = "_xla_megascale_target"
_KINDS = {
    "ALL_GATHER": "all-gather",
    "ALL_REDUCE": "all-reduce",
    "REDUCE_SCATTER": "reduce-scatter",
    "ALL_TO_ALL": "all-to-all",
    "ONE_TO_ONE": "collective-permute",
}
_PAIR = re.compile(r"\{(\d{1,18})->(\d{1,18})\}")
_PRODUCT = re.compile(r"\{([\d,:]+)\}x\{([\d,:]+)\}")
_LISTED = re.compile(r"\{((?:\{[\d,:]+\},?)+)\}")
_MAX_DEVICES = 1 << 20
_MAX_GROUPS = 1 << 22


@dataclass(frozen=True, slots=True)
class Slices:
    """`members`: the partitions of each slice, in mesh order; `partition_of`: that of each device number."""

    members: tuple[tuple[int, ...], ...]
    partition_of: dict[int, int]
    slice_of: dict[int, int]
    """The slice of each partition, from 0."""

    def everywhere(self, groups: Groups) -> Groups:
        """Groups (or pairs) numbered within a slice, as groups of partitions in every slice."""
        size = len(self.members[0])
        if len(groups) * len(self.members) > _MAX_GROUPS or any(
            not 0 <= device < size for group in groups for device in group
        ):
            return groups
        return tuple(tuple(slice_[device] for device in group) for slice_ in self.members for group in groups)

    def joined_by(self, groups: Groups) -> bool:
        """Whether a group has members in several slices."""
        return any(len({self.slice_of.get(partition) for partition in group}) > 1 for group in groups)


def slices_of(mesh: MeshFact | None) -> Slices | None:
    """The slices that the device numbers of a mesh tell of; None for one slice, or where they are of unequal size."""
    if mesh is None or len(mesh.device_ids) != prod(mesh.axes.values()):
        return None
    return _slices(tuple(mesh.device_ids))


@lru_cache(maxsize=16)
def _slices(device_ids: tuple[int, ...]) -> Slices | None:
    members: dict[int, list[int]] = {}
    for partition, number in enumerate(device_ids):
        members.setdefault(number // _SLICE, []).append(partition)
    if len(members) < 2 or len({len(slice_) for slice_ in members.values()}) != 1:
        return None
    ordered = tuple(tuple(members[number]) for number in sorted(members))
    return Slices(
        ordered,
        {number: partition for partition, number in enumerate(device_ids)},
        {partition: i for i, slice_ in enumerate(ordered) for partition in slice_},
    )


def crosses_slices(instruction: Instruction) -> bool:
    """Whether a `send` or `recv` is one side of a transfer between slices."""
    return instruction.frontend_attributes.get("_xla_host_transfer_handler_name") == _HANDLER


def transfer_kind(instruction: Instruction) -> str | None:
    """What a transfer between slices does, as the kind of a collective; None where it is of no known type."""
    return _KINDS.get(instruction.frontend_attributes.get(_TRANSFER, ""))


def transfer_groups(instruction: Instruction, slices: Slices | None) -> Groups | None:
    """The partitions that exchange data, pairs for a transfer of device to device; None where they are not known."""
    if slices is None:
        return None
    target = instruction.frontend_attributes.get(_TARGET, "")
    if pairs := _PAIR.findall(target):
        numbers = [(int(source), int(to)) for source, to in pairs]
    elif product := _PRODUCT.fullmatch(target):
        ends, devices = _numbers(product[1]), _numbers(product[2])
        if len(ends) * len(devices) > len(slices.partition_of):
            return None
        numbers = [tuple(end * _SLICE + device for end in ends) for device in devices]
    elif listed := _LISTED.fullmatch(target):
        numbers = [tuple(_numbers(group)) for group in listed[1].strip("{,}").split("},{")]
    else:
        return None
    known = slices.partition_of
    if any(number not in known for group in numbers for number in group) or not all(numbers):
        return None
    return tuple(tuple(known[number] for number in group) for group in numbers)


def _numbers(text: str) -> list[int]:
    """`0:3,7` -> 0, 1, 2, 3, 7"""
    found: list[int] = []
    for piece in text.split(","):
        first, _, last = piece.partition(":")
        if not first.isdecimal() or (last and not last.isdecimal()) or len(piece) > 32:
            return []
        stop = int(last) if last else int(first)
        if stop - int(first) + len(found) > _MAX_DEVICES:
            return []
        found.extend(range(int(first), stop + 1))
    return found
