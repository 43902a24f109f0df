"""A gather written as an all-reduce of pieces padded with zeros.

The TPU backend does this to small gathers (up to a few million elements): each device puts its shard into a buffer of
zeros, and the sum over the group is the gathered array. Elements of the whole array stay; a ring sends twice as much.
"""

from __future__ import annotations

from ..pool import Key
from .spelling import Spelling


def _ignore(key: Key) -> Key:
    return key._replace(kind="gather or sum") if key.kind in ("all-gather", "all-reduce") else key


def _admits(before: Key, after: Key) -> bool:
    return before.kind == "all-gather" and after.kind == "all-reduce"


GATHER_AS_SUM = Spelling("gather-as-sum", "elements stay; gather = sum of zero-padded shards", _ignore, _admits)
