"""Run the batch in twice as many parts: what follows from the batch is half as large, gradients are summed."""

from __future__ import annotations

from collections.abc import Iterator

from ..action import Action
from ..lives import Life, Lives
from .weigh import weighed

_OF_THE_BATCH = ("activation_saved", "activation_temporary", "collective", "layout_copy")


def actions(lives: Lives) -> Iterator[Action]:
    """One action for a step with a backward pass, unless nothing in it follows from the batch."""
    if lives.backward is None or not lives.indices:
        return
    batch = [life for life in lives.of(*_OF_THE_BATCH) if not life.of_weights]
    if not batch:
        return
    more, how = [], "run twice as many microbatches, each half as large"
    if not _sums_gradients(lives, batch):
        # The first microbatch needs no sum, every later one adds to it: a copy of the gradients stands all the time.
        size = sum(argument.leaf.bytes or 0 for argument in lives.arguments if argument.class_ == "parameter")
        more, how = [Life(size)], "run the batch in two microbatches and add up their gradients"
    yield weighed(lives, "microbatch", "the batch", how, batch, lambda life: -(-life.bytes // 2), more)


def _sums_gradients(lives: Lives, batch: list[Life]) -> bool:
    """Whether gradients live already when the first activation is made: the step has microbatches."""
    saved = [life.buffer.first for life in batch if life.buffer and life.buffer.class_ == "activation_saved"]
    begun = min(saved, default=0)
    # Memory that the backward pass will fill may be set aside as early, and is no sum.
    sums = [life for life in lives.of("gradient") if life.filling is None]
    return any(life.buffer is not None and life.buffer.first < begun for life in sums)
