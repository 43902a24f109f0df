"""Buffers that live in the memory of a result before that is written: XLA lets temporaries use it while it is idle."""

from __future__ import annotations

from ..assignment import Allocation, BufferAssignment, LogicalBuffer
from ..attribution import Attribution
from ..proto import ModuleProto
from .lives import Life, Lives

Positions = dict[tuple[str, str], int]


class Guests:
    """Finds them in one assignment."""

    def __init__(
        self, module: ModuleProto, assignment: BufferAssignment, positions: Positions, attribution: Attribution
    ) -> None:
        self.module = module
        self.assignment = assignment
        self.positions = positions
        self.attribution = attribution
        self._home = {made.id: c.name for c in module.computations for made in c.instructions}

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
        first = self._at(buffer.instruction_id)
        if first is None:
            return None
        if self.assignment.last_uses:
            last = self.assignment.last_uses.get(buffer.id)
            return None if last is None else (first, self.positions.get(last, first))
        end = first
        entry = self.module.entry
        for identity in {buffer.instruction_id, *(place[0] for place in self.assignment.aliases.get(buffer.id, ()))}:
            if entry is not None and identity == entry.root_id:
                return None
            made = self.module.instruction_by_id.get(identity)
            for user in self.attribution.users_of(made) if made is not None else ():
                end = max(end, self._at(user.id) or 0)
        return first, end

    def _at(self, identity: int) -> int | None:
        made = self.module.instruction_by_id.get(identity)
        return None if made is None else self.positions.get((self._home.get(identity, ""), made.name))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined
