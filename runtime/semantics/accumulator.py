"""In which dtype a step adds up the gradients of its microbatches, from its traced program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..jaxpr import open_jaxpr
from ..run.narrow import equations


def accumulators(jaxpr: Any, count: int, shapes: Iterable[tuple[int, ...]]) -> list[str]:
    """Dtypes of what a loop over `count` microbatches carries in the shapes of the parameters; none without a loop."""
    wanted = [tuple(shape) for shape in shapes]
    for eqn in equations(jaxpr):
        if eqn.primitive.name != "scan" or eqn.params["length"] != count:
            continue
        body = open_jaxpr(eqn.params["jaxpr"])
        carried = [
            inside.aval
            for outside, inside in zip(eqn.outvars, body.outvars, strict=True)
            if outside.aval.shape == inside.aval.shape
        ]
        # The leaves of a tree stand in a row; a loss beside them stands before, as in (loss, grads).
        for first in range(len(carried) - len(wanted), -1, -1):
            row = carried[first : first + len(wanted)]
            if [tuple(aval.shape) for aval in row] == wanted:
                return sorted({str(aval.dtype) for aval in row})
    return []
