"""A sum whose slices are used may be written as all-reduce and dynamic-slice, or as reduce-scatter.

CPU and TPU texts keep the all-reduce (the TPU backend makes it a reduce-scatter inside a fusion), CUDA writes
reduce-scatter where its pass recognises the slice (`reduce-scatter-creator`). Either satisfies a plan; a ring sends
half as much for the second.
"""

from __future__ import annotations

from ..pool import Entry, Key
from .spelling import Spelling

SUMS = ("all-reduce", "reduce-scatter")


def _ignore(key: Key) -> Key:
    return key._replace(kind="sum") if key.kind in SUMS else key


def _admits(before: Entry, after: Entry) -> bool:
    return before.key.kind != after.key.kind and before.key.kind in SUMS and after.key.kind in SUMS


SUM_SPELLING = Spelling("sum-spelling", "elements stay; all-reduce + slice = reduce-scatter", _ignore, _admits)
