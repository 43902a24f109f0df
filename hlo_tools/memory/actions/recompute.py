"""Recompute activations in the backward pass and save only what each block is given."""

from __future__ import annotations

from collections.abc import Iterator

from ..action import Action
from ..lives import Life, Lives
from .weigh import weighed


def actions(lives: Lives) -> Iterator[Action]:
    """For each loop that saves more than its state for the backward pass.

    What is saved of one iteration is made again while its backward pass runs: that much is left.
    """
    for name, saved, count in _loops(lives):
        text = f"recompute in the backward pass: jax.checkpoint around {name}"
        yield weighed(lives, "recompute", name, text, saved, lambda life, count=count: -(-life.bytes // count))


def _loops(lives: Lives) -> Iterator[tuple[str, list[Life], int]]:
    """(name, what one loop saves that is not its state, number of iterations)."""
    loops: dict[int, list[Life]] = {}
    for life in lives.of("activation_saved"):
        if life.filling is not None and life.filling.parts > 1:
            loops.setdefault(life.filling.loop, []).append(life)
    for saved in loops.values():
        made = [life for life in saved if life.filling is not None and not life.filling.is_state]
        if made:
            count = min(life.filling.parts for life in made if life.filling is not None)
            yield f"the body of the loop at {_place(made)}", made, count


def _place(lives: list[Life]) -> str:
    """The line that most of these bytes come from, else their scope."""
    sums: dict[str, int] = {}
    for life in lives:
        if life.buffer is not None:
            place = life.buffer.source or (f"`{life.buffer.scope}`" if life.buffer.scope else "")
            sums[place] = sums.get(place, 0) + life.bytes
    return max(sums, key=lambda place: (bool(place), sums[place]), default="") or "the forward pass"
