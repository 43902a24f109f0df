"""Donate an argument: an output of its shape takes its memory, and no other.

What used the output's memory before the output is written has to live elsewhere then.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..action import Action
from ..lives import Argument, Life, Lives
from .weigh import weighed

# Batches are fed anew; only what the step hands on may be given up.
_STATE = frozenset(("parameter", "optimizer_slot", "counter", "rng", "other"))


def actions(lives: Lives) -> Iterator[Action]:
    """For each argument that the program keeps beside outputs of the same shapes."""
    kept: dict[str, list[Argument]] = {}
    for argument in lives.arguments:
        if argument.class_ in _STATE and not argument.leaf.aliased:
            kept.setdefault(argument.leaf.argument, []).append(argument)
    open_ = [life for life in lives.of("output") if life.trace is None]
    for name, arguments in kept.items():
        replaced = list(_replaced(arguments, open_))
        if replaced:
            text = f"donate `{name}` (donate_argnames): what replaces it takes its memory"
            guests = [guest for life in replaced for guest in life.guests]
            yield weighed(lives, "donate", name, text, replaced, lambda life: 0, guests)


def _replaced(arguments: list[Argument], outputs: list[Life]) -> Iterator[Life]:
    """The outputs that could take the memory of these arguments, each argument for one."""
    free = list(outputs)
    for argument in arguments:
        found = next((life for life in free if life.bytes == argument.leaf.bytes and _alike(argument, life)), None)
        if found is not None:
            free.remove(found)
            yield found


def _alike(argument: Argument, output: Life) -> bool:
    local = argument.leaf.local_shape
    dims = ",".join(map(str, local if local is not None else argument.leaf.shape))
    return output.buffer is not None and f"[{dims}]" in output.buffer.shape
