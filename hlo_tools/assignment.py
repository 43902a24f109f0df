"""BufferAssignmentProto: every logical buffer, the allocation that holds it, and the heap simulator's trace.

Field numbers: xla/service/hlo.proto. Sizes are bytes on one device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from . import wire

EventKind = Literal["alloc", "free", "share"]
_KINDS: tuple[EventKind, ...] = ("alloc", "free", "share")


@dataclass(slots=True)
class LogicalBuffer:
    """One value of the program: where it is defined, its size and its memory space (`color`)."""

    id: int = 0
    size: int = 0
    instruction_id: int = 0
    instruction_name: str = ""
    shape_index: tuple[int, ...] = ()
    color: int = 0


@dataclass(slots=True)
class Allocation:
    """One block of memory. `assigned` lists (logical buffer id, offset, size) of the values that live in it."""

    index: int = 0
    size: int = 0
    is_thread_local: bool = False
    is_entry_parameter: bool = False
    parameter_number: int = 0
    parameter_shape_index: tuple[int, ...] = ()
    maybe_live_out: bool = False
    color: int = 0
    is_tuple: bool = False
    is_constant: bool = False
    aliased_with_output: bool = False
    assigned: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def is_temp(self) -> bool:
        """Scratch memory of the program, by XLA's own definition (BufferAllocation::IsPreallocatedTempBuffer)."""
        return not (self.is_entry_parameter or self.maybe_live_out or self.is_thread_local or self.is_constant)


@dataclass(slots=True)
class HeapEvent:
    """One step of the heap simulator; `canonical_id` is the buffer that a `share` event joins."""

    kind: EventKind
    buffer_id: int
    canonical_id: int
    computation: str
    instruction: str


@dataclass(slots=True)
class HeapTrace:
    """The heap simulator's run over one memory space."""

    events: list[HeapEvent]
    whole_module: bool


@dataclass(slots=True)
class BufferAssignment:
    """What XLA's buffer assignment decided."""

    buffers: dict[int, LogicalBuffer]
    allocations: list[Allocation]
    traces: list[HeapTrace]
    aliases: dict[int, list[tuple[int, str, tuple[int, ...]]]]
    """Logical buffer id -> (instruction id, instruction name, shape index) of the other places that hold it."""
    last_uses: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Logical buffer id -> (computation, instruction) that uses it last, where that is known already."""


def parse_assignment(data: bytes, start: int, end: int) -> BufferAssignment:
    """The BufferAssignmentProto in `data[start:end]`. Raises WireError where it is none."""
    made = BufferAssignment({}, [], [], {})
    seen: set[bytes] = set()
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            buffer = _logical_buffer(data, *wire.span(entry))
            made.buffers[buffer.id] = buffer
        elif number == 2:
            _alias(data, made, *wire.span(entry))
        elif number == 3:
            made.allocations.append(_allocation(data, *wire.span(entry)))
        elif number == 4:
            # A heap that was split over several allocations repeats its whole trace for each of them.
            content = _events_content(data, *wire.span(entry))
            if content not in seen:
                seen.add(content)
                made.traces.append(_trace(data, *wire.span(entry)))
    return made


def _events_content(data: bytes, start: int, end: int) -> bytes:
    """The bytes of a trace's events alone: repeats differ in their allocation index."""
    return b"".join(data[entry[2] : entry[3]] for entry in wire.fields(data, start, end) if entry[:2] == (1, wire.SPAN))


def _location(data: bytes, start: int, end: int) -> tuple[int, str, tuple[int, ...]]:
    instruction, name, index = 0, "", []
    for entry in wire.fields(data, start, end):
        if entry[0] == 4:
            instruction = wire.number(entry)
        elif entry[0] == 2:
            name = wire.text(data, entry)
        elif entry[0] == 3:
            index += wire.integers(data, entry)
    return instruction, name, tuple(index)


def _logical_buffer(data: bytes, start: int, end: int) -> LogicalBuffer:
    made = LogicalBuffer()
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            made.id = wire.number(entry)
        elif number == 2:
            made.size = wire.signed(wire.number(entry))
        elif number == 3:
            made.instruction_id, made.instruction_name, made.shape_index = _location(data, *wire.span(entry))
        elif number == 4:
            made.color = wire.signed(wire.number(entry))
    if made.size < 0:
        raise wire.WireError(f"logical buffer {made.id} has the size {made.size}", start)
    return made


def _alias(data: bytes, made: BufferAssignment, start: int, end: int) -> None:
    source, location = 0, None
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            source = wire.number(entry)
        elif entry[0] == 2:
            location = _location(data, *wire.span(entry))
    if location is not None:
        made.aliases.setdefault(source, []).append(location)


def _allocation(data: bytes, start: int, end: int) -> Allocation:
    made = Allocation()
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            made.index = wire.number(entry)
        elif number == 2:
            made.size = wire.signed(wire.number(entry))
        elif number == 3:
            made.is_thread_local = bool(wire.number(entry))
        elif number == 5:
            made.is_entry_parameter = bool(wire.number(entry))
        elif number == 6:
            made.parameter_number = wire.number(entry)
        elif number == 7:
            made.maybe_live_out = bool(wire.number(entry))
        elif number == 8:
            made.color = wire.signed(wire.number(entry))
        elif number == 9:
            made.assigned.append(_assigned(data, *wire.span(entry)))
        elif number == 10:
            made.parameter_shape_index += tuple(wire.integers(data, entry))
        elif number == 11:
            made.is_tuple = bool(wire.number(entry))
        elif number == 12:
            made.is_constant = bool(wire.number(entry))
        elif number == 13:
            made.aliased_with_output = bool(wire.number(entry))
    if made.size < 0:
        raise wire.WireError(f"allocation {made.index} has the size {made.size}", start)
    return made


def _assigned(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    buffer = offset = size = 0
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            buffer = wire.number(entry)
        elif entry[0] == 2:
            offset = wire.signed(wire.number(entry))
        elif entry[0] == 3:
            size = wire.signed(wire.number(entry))
    return buffer, offset, size


def _trace(data: bytes, start: int, end: int) -> HeapTrace:
    events: list[HeapEvent] = []
    whole = False
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            events.append(_event(data, *wire.span(entry)))
        elif entry[0] == 2:
            whole = bool(wire.number(entry))
    return HeapTrace(events, whole)


def _event(data: bytes, start: int, end: int) -> HeapEvent:
    kind = buffer = canonical = 0
    computation = instruction = ""
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            kind = wire.number(entry)
        elif number == 2:
            buffer = wire.number(entry)
        elif number == 3:
            computation = wire.text(data, entry)
        elif number == 4:
            instruction = wire.text(data, entry)
        elif number == 5:
            canonical = wire.number(entry)
    if kind >= len(_KINDS):
        raise wire.WireError(f"heap event kind {kind} is not known", start)
    return HeapEvent(_KINDS[kind], buffer, canonical, computation, instruction)
