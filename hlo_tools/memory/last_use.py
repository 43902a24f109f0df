"""When a value is used last: what the heap's trace leaves open, since only what takes memory is a moment in it."""

from __future__ import annotations

from collections.abc import Iterator

from ..assignment import BufferAssignment, LogicalBuffer
from ..attribution import Attribution
from ..proto import InstructionProto, ModuleProto

Positions = dict[tuple[str, str], int]
Place = tuple[int, tuple[int, ...]]
"""An instruction's id and a shape index."""
_SAME_PLACE = frozenset(("bitcast", "opt-barrier", "while"))
_MOST_PLACES = 4096


class LastUses:
    """Finds them in one assignment, as indices of its schedule."""

    def __init__(
        self, module: ModuleProto, assignment: BufferAssignment, positions: Positions, attribution: Attribution
    ) -> None:
        self.module = module
        self.assignment = assignment
        self.positions = positions
        self.attribution = attribution
        self._sharing = _sharing(assignment)
        self._home = {made.id: c.name for c in module.computations for made in c.instructions}

    def span(self, buffer: LogicalBuffer) -> tuple[int, int | None] | None:
        """Schedule indices from a value's definition to its last use, None for the end of one that the step returns.

        None for a value that is not in the schedule.
        """
        first = self._at(buffer.instruction_id)
        if first is None:
            return None
        if self.assignment.last_uses:
            last = self.assignment.last_uses.get(buffer.id)
            return first, None if last is None else self.positions.get(last, first)
        places = [(buffer.instruction_id, buffer.shape_index)]
        places += [(place[0], place[2]) for place in self.assignment.aliases.get(buffer.id, ())]
        return first, self._followed(places, first)

    def _followed(self, places: list[Place], end: int) -> int | None:
        """The last use of a value that is at these places, wherever it is handed on; None where the step returns it."""
        root = self.module.entry.root_id if self.module.entry is not None else None
        seen = set(places)
        for identity, index in places:
            made = self.module.instruction_by_id.get(identity)
            if identity == root or made is None:
                return None
            for user in self.attribution.users_of(made):
                onward = list(_handed_on(user, identity, index))
                if user.opcode != "get-tuple-element" or onward:
                    end = max(end, self._at(user.id) or 0)
                for place in onward:
                    if place not in seen and len(seen) < _MOST_PLACES:
                        seen.add(place)
                        places.append(place)
        return end

    def end(self, buffer: LogicalBuffer) -> int | None:
        """The last use of a value or of any that the heap put into its memory; None where that outlives the step."""
        end = 0
        for identity in (buffer.id, *self._sharing.get(buffer.id, ())):
            other = self.assignment.buffers.get(identity)
            found = self.span(other) if other is not None else None
            if found is not None:
                if found[1] is None:
                    return None
                end = max(end, found[1])
        return end

    def _at(self, identity: int) -> int | None:
        made = self.module.instruction_by_id.get(identity)
        return None if made is None else self.positions.get((self._home.get(identity, ""), made.name))


def _sharing(assignment: BufferAssignment) -> dict[int, list[int]]:
    """Canonical buffer -> the buffers that share its memory, as the traces have it."""
    found: dict[int, list[int]] = {}
    for trace in assignment.traces:
        owner: dict[int, int] = {}
        for event in trace.events:
            if event.kind == "share":
                owner[event.buffer_id] = owner.get(event.canonical_id, event.canonical_id)
                found.setdefault(owner[event.buffer_id], []).append(event.buffer_id)
    return found


def _handed_on(user: InstructionProto, identity: int, index: tuple[int, ...]) -> Iterator[Place]:
    """Where the value at an index of one instruction is after a user that only hands it on, in the same memory."""
    if user.opcode == "get-tuple-element":
        if index[:1] == (user.tuple_index,):
            yield user.id, index[1:]
    elif user.opcode == "tuple":
        for position, operand in enumerate(user.operand_ids):
            if operand == identity:
                yield user.id, (position, *index)
    elif user.opcode in _SAME_PLACE:
        yield user.id, index
