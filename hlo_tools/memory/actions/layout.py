"""Let tiles be filled: a buffer whose layout pads it much, made so that its two minor dimensions fill them."""

from __future__ import annotations

from collections.abc import Iterator

from ..action import Action
from ..buffer import Buffer
from ..lives import Life, Lives
from .weigh import weighed

WIDE = 1.25
"""From here on padding is worth mending: a buffer of so many times its elements."""


def actions(lives: Lives) -> Iterator[Action]:
    """For each source line or argument whose buffers are padded widely."""
    places: dict[str, list[tuple[Life, Buffer]]] = {}
    for life in lives.all:
        if life.buffer is not None and life.bytes > WIDE * life.buffer.unpadded_bytes:
            places.setdefault(life.buffer.source or life.buffer.scope or life.buffer.name, []).append(
                (life, life.buffer)
            )
    for place, padded in places.items():
        largest = max((buffer for _, buffer in padded), key=lambda buffer: buffer.bytes)
        factor = largest.bytes / max(largest.unpadded_bytes, 1)
        text = f"{largest.shape} takes {factor:.3g} times its elements: let its minor dimension be a multiple of 128"
        shrunk = [life for life, _ in padded]
        yield weighed(
            lives, "layout", place, text, shrunk, lambda life: life.buffer.unpadded_bytes if life.buffer else 0
        )
