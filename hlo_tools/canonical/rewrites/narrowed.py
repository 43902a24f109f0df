"""A value that is only read in a narrower type is converted before it travels, not after.

Converting commutes with moving: a compiler that converts the shard and gathers fewer bytes makes the same values to the
bit. CUDA's does it with every convert behind a gather. A TPU multiplies float32 matrices in one bfloat16 pass unless a
higher precision is asked for, so at full effort libtpu does it with the operands of products too. A sum is no move: of
rounded terms it is another sum, and no such rewrite explains it.

Evidence: in the partitioned program every reader of the value converts it to that type, or is a matrix product at
default precision, moves and slices aside.
"""

from __future__ import annotations

from ..pool import Entry, Key
from .spelling import Spelling

_MOVING = ("all-gather", "all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all")


def _ignore(key: Key) -> Key:
    return key._replace(dtype="any")


def _admits(before: Entry, after: Entry) -> bool:
    return before.key.kind in _MOVING and before.key.dtype != after.key.dtype and before.read_as == after.key.dtype


NARROWED = Spelling("narrowed", "elements stay; bytes * (narrow / wide)", _ignore, _admits)
