"""Whether the state that a run tells of is all that its step carries over: what it leaves out, nobody compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..carry import settled
from ..data.digest import batch_digest
from ..leaves import physical
from ..run.loop import Arguments
from ..run.values import key_of, named_leaves
from ..step import NormalisedStep
from .hook import words


def lacking(step: NormalisedStep, given: Arguments | None, state: Mapping[str, Any]) -> list[str] | None:
    """The arrays that the step carries over and `state` has not; None where the step does not say what it carries.

    Compared by value with the arguments of the next step; where the run does not give these, by size and dtype with
    those that the step declares. Names may differ, and how the arrays are nested.
    """
    step = settled(step)
    carried = set(step.carry.values())
    if not carried:
        return None
    arguments, kind = ((step.args, step.kwargs), _declared) if given is None else (given, _value)
    wanted: dict[str, list[str]] = {}
    for argument, path, leaf in named_leaves(step, *arguments):
        if argument in carried and (key := kind(leaf)) is not None:
            wanted.setdefault(key, []).append(key_of(argument, path))
    held = Counter(kind(leaf) for leaf in state.values())
    ends = {path.rpartition("/")[2] for path in state}
    found: list[str] = []
    for key, names in wanted.items():
        by_name = sorted(names, key=lambda name: name.rpartition("/")[2] in ends)
        found += by_name[: max(0, len(names) - held[key])]
    return found


def _value(leaf: Any) -> str | None:
    """What is equal for equal values; a single number in any dtype, for a counter may be a Python number."""
    array = np.asarray(words(leaf))
    if array.dtype.hasobject:
        return None
    return repr(array.item()) if array.size == 1 else batch_digest(array.ravel())


def _declared(leaf: Any) -> str | None:
    """What is equal for arrays of one size and dtype."""
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        return "1" if isinstance(leaf, int | float | complex) else None
    shape, width = physical(leaf)
    size = int(np.prod(shape, dtype=np.int64))
    return "1" if size == 1 else f"{size} of {width} bytes"
