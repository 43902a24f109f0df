"""When a value is used last: what the heap's trace leaves open, since only what takes memory is a moment in it."""

from __future__ import annotations

from ..assignment import BufferAssignment, LogicalBuffer
from ..attribution import Attribution
from ..proto import InstructionProto, ModuleProto

Positions = dict[tuple[str, str], int]


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
        end, entry = first, self.module.entry
        places = [(buffer.instruction_id, buffer.shape_index)]
        places += [(place[0], place[2]) for place in self.assignment.aliases.get(buffer.id, ())]
        for identity, index in places:
            if entry is not None and identity == entry.root_id:
                return first, None
            made = self.module.instruction_by_id.get(identity)
            for user in self.attribution.users_of(made) if made is not None else ():
                if not _takes_another(user, index):
                    end = max(end, self._at(user.id) or 0)
        return first, end

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


def _takes_another(user: InstructionProto, index: tuple[int, ...]) -> bool:
    """Whether a user takes another element out of the tuple that holds the value."""
    return user.opcode == "get-tuple-element" and bool(index) and user.tuple_index != index[0]
