"""Every buffer of a step in time: what the peak would be if some of them were smaller, gone, or lived shorter."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...contracts.manifest import Leaf
from ..filled import Filling
from ..roles import TensorClass
from .buffer import Buffer

Range = tuple[int, int | None]
"""From which event of a trace to which, the end left out; None where nothing ends it."""
WHOLE: Range = (0, None)
WORTH_IT = 0.01
"""The least part of the peak that an action must free to be named."""


@dataclass(frozen=True, slots=True, eq=False)
class Life:
    """One buffer, when it takes its bytes, and how many.

    `buffer` says what it is, None for one too small to matter. `filling` tells of one that a loop writes part by part.
    `of_weights` is true where it holds elements of a parameter, or has a parameter's shape: its size does not follow
    from the batch. `trace` is the heap it lives on, None for what stands through the whole step. `guests` are buffers
    that use its memory while it is idle, and would be on a heap of their own without it.
    """

    bytes: int
    events: Sequence[Range] = (WHOLE,)
    trace: int | None = None
    buffer: Buffer | None = None
    filling: Filling | None = None
    of_weights: bool = False
    guests: tuple[Life, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the step on one device: `copies` is on how many devices each of its elements is."""

    leaf: Leaf
    class_: TensorClass
    copies: int


@dataclass(slots=True)
class Lives:
    """All buffers in the device's main memory, and what actions need to know of the step.

    `indices` is, for each trace, the schedule index at each of its events. `backward` is the schedule index at which
    the backward pass begins and the one at which it ends, None for a step without one.
    """

    all: list[Life]
    indices: list[list[int]] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    backward: tuple[int, int] | None = None
    _now: int | None = field(default=None, init=False, repr=False)

    @property
    def now(self) -> int:
        """The peak as it is."""
        if self._now is None:
            self._now = self.peak()
        return self._now

    @property
    def worth(self) -> int:
        """The least that an action must free to be named."""
        return max(1, int(WORTH_IT * self.now))

    def of(self, *classes: str) -> list[Life]:
        return [life for life in self.all if life.buffer is not None and life.buffer.class_ in classes]

    def peak(self, bytes_of: Callable[[Life], int] = lambda life: life.bytes, more: Iterable[Life] = ()) -> int:
        """The peak if each buffer took `bytes_of` bytes and those of `more` were there too."""
        standing = 0
        changes: list[dict[int, int]] = [{} for _ in self.indices]
        for life in (*self.all, *more):
            size = bytes_of(life)
            if life.trace is None:
                standing += size
                continue
            steps = changes[life.trace]
            for begin, end in life.events:
                steps[begin] = steps.get(begin, 0) + size
                if end is not None:
                    steps[end] = steps.get(end, 0) - size
        return standing + sum(map(_highest, changes))

    def after(self, trace: int, index: int) -> int:
        """The first event of a trace at or after a schedule index."""
        return bisect_left(self.indices[trace], index)


def _highest(steps: dict[int, int]) -> int:
    highest = live = 0
    for at in sorted(steps):
        live += steps[at]
        highest = max(highest, live)
    return highest
