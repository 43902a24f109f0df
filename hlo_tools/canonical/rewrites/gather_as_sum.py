"""A gather written as an all-reduce of pieces padded with zeros.

The TPU backend does this to small gathers (up to a few million elements): each device puts its shard into a buffer of
zeros, and the sum over the group is the gathered array. Elements of the whole array stay; a ring sends twice as much.

Evidence: in the optimised program the operand of the sum is a shard of 1/n put into, or padded with, zeros. Without it
the sum is a sum, however well its size fits.
"""

from __future__ import annotations

from ..pool import Entry, Key
from .spelling import Spelling


def _ignore(key: Key) -> Key:
    return key._replace(kind="gather or sum") if key.kind in ("all-gather", "all-reduce") else key


def _admits(before: Entry, after: Entry) -> bool:
    return before.key.kind == "all-gather" and after.key.kind == "all-reduce" and after.padded


GATHER_AS_SUM = Spelling("gather-as-sum", "elements stay; gather = sum of zero-padded shards", _ignore, _admits)
