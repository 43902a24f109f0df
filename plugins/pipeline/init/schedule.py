"""Whether the learning rate counts its own steps, read off the paths of the state's counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ....hlo_tools.roles import SLOT_NAMES
from ....hlo_tools.tensors import Tensor

COUNT = "count"
_MAX_DEPTH = 64


def schedule_counters(rows: Sequence[Tensor]) -> list[str]:
    """The state paths of the counters that schedules keep, as optax nests its states. `rows`: all arguments.

    A schedule's state (`optax.ScaleByScheduleState`) is a `count` and nothing else; every other state of optax that
    has a `count` keeps something beside it (Adam's moments). Outside of an optimizer's state a lone `count` may count
    anything.
    """
    paths = [(row.argument, *row.path.split("/"))[:_MAX_DEPTH] for row in rows]
    below = Counter(path[:depth] for path in paths for depth in range(1, len(path)))
    return [
        row.path
        for row, path in zip(rows, paths, strict=True)
        if row.class_ == "counter"
        and path[-1] == COUNT
        and below[path[:-1]] == 1
        and any(part.lower() in SLOT_NAMES for part in path)
    ]
