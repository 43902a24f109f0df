"""On how many devices each element of an argument is: what splitting the argument further could divide it by."""

from __future__ import annotations

from math import prod

from ...contracts.manifest import Leaf
from ..module import HloModule
from ..tile_groups import same_part


def copies_of(leaf: Leaf, name: str, module: HloModule | None) -> int:
    """The number of devices that hold the same part of an argument; 1 where neither facts nor program tell.

    `name` is the argument's instruction in the entry of `module`, whose placement decides; else a capture's facts do.
    """
    devices = module.num_partitions if module is not None else 1
    if devices < 2:
        return 1
    instruction = module.entry.find(name) if module is not None else None
    placement = instruction.attributes.get("sharding") if instruction is not None else None
    groups = same_part(placement, devices) if placement else None
    if groups:
        return max(map(len, groups))
    if leaf.local_shape is not None and prod(leaf.local_shape):
        if leaf.spec is None:
            return 1
        parts = prod(leaf.shape) // prod(leaf.local_shape)
        return devices // parts if parts and devices % parts == 0 else 1
    return 1
