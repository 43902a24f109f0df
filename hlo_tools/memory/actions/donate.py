"""Donate an argument: an output of its shape takes its memory, and no other.

What used the output's memory before the output is written has to live elsewhere then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ...shape import optional_shape
from ..action import Action
from ..lives import Argument, Life, Lives
from .weigh import weighed

Array = tuple[int, tuple[int, ...]]
"""Bytes and dimensions on one device."""

# Batches are fed anew; only what the step hands on may be given up.
_STATE = frozenset(("parameter", "optimizer_slot", "counter", "rng", "other"))


def actions(lives: Lives) -> Iterator[Action]:
    """For each argument that the program keeps beside outputs of the same shapes."""
    kept: dict[str, list[Argument]] = {}
    for argument in lives.arguments:
        if argument.class_ in _STATE and not argument.leaf.aliased:
            kept.setdefault(argument.leaf.argument, []).append(argument)
    open_ = _by_array(life for life in lives.of("output") if life.trace is None)
    for name, arguments in kept.items():
        replaced = list(_replaced(arguments, open_))
        if replaced:
            text = f"donate `{name}` (donate_argnames): what replaces it takes its memory"
            guests = [guest for life in replaced for guest in life.guests]
            yield weighed(lives, "donate", name, text, replaced, lambda life: 0, guests)


def _by_array(outputs: Iterable[Life]) -> dict[Array, list[Life]]:
    found: dict[Array, list[Life]] = {}
    for life in outputs:
        if life.buffer is not None and (shape := optional_shape(life.buffer.shape)) is not None:
            found.setdefault((life.bytes, shape.dims), []).append(life)
    return found


def _replaced(arguments: list[Argument], outputs: Mapping[Array, list[Life]]) -> Iterator[Life]:
    """The outputs that could take the memory of these arguments, each argument for one."""
    used: Counter[Array] = Counter()
    for argument in arguments:
        leaf = argument.leaf
        array = (leaf.bytes or 0, tuple(leaf.local_shape if leaf.local_shape is not None else leaf.shape))
        alike = outputs.get(array, ())
        if used[array] < len(alike):
            yield alike[used[array]]
            used[array] += 1
