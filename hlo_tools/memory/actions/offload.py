"""Keep in the host's memory what is not needed for long: optimizer slots, and activations saved by a loop."""

from __future__ import annotations

from collections.abc import Iterator

from ..action import Action
from ..lives import Life, Lives
from .weigh import weighed

_AHEAD = 2
"""Parts of a saved activation on the device at one time: the one in use and the one on its way."""


def actions(lives: Lives) -> Iterator[Action]:
    """For the optimizer slots, which only the update needs, and for what loops save for the backward pass."""
    if lives.backward is not None and lives.indices:
        yield from _slots(lives, lives.backward[1])
    stacks = [life for life in lives.of("activation_saved") if life.filling is not None and life.filling.parts > _AHEAD]
    if stacks:
        yield weighed(
            lives,
            "offload",
            "saved activations",
            'offload saved activations to the host: jax.checkpoint with an offloading policy ("pinned_host")',
            stacks,
            lambda life: life.bytes * _AHEAD // (life.filling.parts if life.filling is not None else _AHEAD),
        )


def _slots(lives: Lives, end: int) -> Iterator[Action]:
    slots = [life for life in lives.of("optimizer_slot") if life.buffer is not None]
    if not slots:
        return
    trace = max(range(len(lives.indices)), key=lambda each: len(lives.indices[each]))
    begin = lives.after(trace, end)
    # What the update reads is there with them; a trace that ends before the update does tells no time for its end.
    held = [life for life in lives.all if life.trace == trace and _ends_early(life, begin, end)]
    present = [Life(life.bytes, ((begin, None),), trace) for life in (*slots, *held)]
    text = 'keep optimizer slots on the host until the update, in a call of its own: memory kind "pinned_host"'
    yield weighed(lives, "offload", "optimizer slots", text, slots, lambda life: 0, present)


def _ends_early(life: Life, begin: int, end: int) -> bool:
    """Whether the trace frees a buffer before `begin` that is used after the schedule index `end`."""
    freed = life.events[-1][1]
    return life.buffer is not None and life.buffer.last > end and freed is not None and freed <= begin
