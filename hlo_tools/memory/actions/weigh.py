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
    """The action that leaves `left(life)` bytes of each of `shrunk` and needs those of `more` besides."""
    chosen = {id(life): life for life in shrunk}
    peak = lives.peak(lambda life: left(life) if id(life) in chosen else life.bytes, more)
    named = [life for life in chosen.values() if life.buffer is not None]
    return Action(
        kind,
        what,
        text,
        lives.peak() - peak,
        sum(life.bytes for life in named),
        tuple(life.buffer.name for life in named if life.buffer is not None),
    )
