"""A value that is only multiplied in bfloat16 is rounded before it travels, not after.

A TPU multiplies float32 matrices in one bfloat16 pass unless a higher precision is asked for. Rounding commutes with
moving, so at full effort libtpu rounds the shard and gathers half the bytes; the products are the same to the bit. A
sum is no move: of rounded terms it is another sum, and no such rewrite explains it.

Evidence: in the partitioned program every reader of the value is a matrix product at default precision, or rounds it to
bfloat16 itself, moves aside.
"""

from __future__ import annotations

from ..pool import Entry, Key
from .spelling import Spelling

_MOVING = ("all-gather", "all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all")
_WIDE, _NARROW = "f32", "bf16"


def _ignore(key: Key) -> Key:
    return key._replace(dtype="float") if key.dtype in (_WIDE, _NARROW) else key


def _admits(before: Entry, after: Entry) -> bool:
    dtypes = before.key.dtype, after.key.dtype
    return dtypes == (_WIDE, _NARROW) and before.key.kind in _MOVING and before.rounded


NARROWED = Spelling("narrowed", "elements stay; bytes * (bf16 / f32)", _ignore, _admits)
