"""Buffers that live in the memory of a result before that is written: XLA lets temporaries use it while it is idle."""

from __future__ import annotations

from ..assignment import Allocation, BufferAssignment, LogicalBuffer
from .last_use import LastUses
from .lives import Life, Lives


class Guests:
    """Finds them in one assignment."""

    def __init__(self, assignment: BufferAssignment, uses: LastUses) -> None:
        self.assignment = assignment
        self.uses = uses

    def of(self, allocation: Allocation, lives: Lives) -> tuple[Life, ...]:
        """Those in one allocation, as they would live on the longest heap; equal ones in one place are one buffer."""
        if not lives.indices:
            return ()
        trace = max(range(len(lives.indices)), key=lambda each: len(lives.indices[each]))
        places: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for identity, offset, size in allocation.assigned:
            buffer = self.assignment.buffers.get(identity)
            span = self._span(buffer) if buffer is not None else None
            if span is not None:
                places.setdefault((offset, size), []).append(span)
        return tuple(
            Life(size, tuple((lives.after(trace, a), lives.after(trace, b + 1)) for a, b in _joined(spans)), trace)
            for (_, size), spans in places.items()
        )

    def _span(self, buffer: LogicalBuffer) -> tuple[int, int] | None:
        """Schedule indices from its first to its last use; None for one that the step returns."""
        found = self.uses.span(buffer)
        return None if found is None or found[1] is None else (found[0], found[1])


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined
