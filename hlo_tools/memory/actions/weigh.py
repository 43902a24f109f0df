"""How far the peak falls if some buffers are smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..action import Action, ActionKind
from ..lives import Life, Lives


def weighed(
    lives: Lives,
    kind: ActionKind,
    what: str,
    text: str,
    shrunk: Iterable[Life],
    left: Callable[[Life], int],
    more: Iterable[Life] = (),
) -> Action:
    """The action that leaves `left(life)` bytes of each of `shrunk` and needs those of `more` besides.

    Going through all buffers of the step is left out, and 0 bytes are said, where what it shrinks by is not worth it.
    """
    chosen = {id(life): life for life in shrunk}
    frees = 0
    if sum(life.bytes - left(life) for life in chosen.values()) >= lives.worth:
        frees = lives.now - lives.peak(lambda life: left(life) if id(life) in chosen else life.bytes, more)
    named = [life for life in chosen.values() if life.buffer is not None]
    return Action(
        kind,
        what,
        text,
        frees,
        sum(life.bytes for life in named),
        tuple(life.buffer.name for life in named if life.buffer is not None),
    )
