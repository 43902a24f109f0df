"""Replay of the heap simulator's trace: which buffers are live when, and the peak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..contracts.errors import ContractLintError
from .assignment import BufferAssignment, HeapTrace
from .proto import ComputationProto, ModuleProto

# Computations whose instructions run where the caller stands; every other called computation is fused or thread-local.
_INLINE = frozenset(("while", "conditional", "call", "async-start"))


@dataclass(slots=True)
class Span:
    """The life of one canonical buffer on the schedule; `last` is None while it is not freed.

    `events` are the half-open ranges of the trace's events in which it takes its bytes: more than one where the memory
    was given back and taken again. The end of the last is None while it is not freed.
    """

    buffer_id: int
    first: int
    last: int | None = None
    events: list[tuple[int, int | None]] = field(default_factory=list)


@dataclass(slots=True)
class Replay:
    """One memory space, replayed. Bytes are sums of logical buffer sizes: no fragmentation, no alignment.

    `spans` are all canonical buffers in the order of their first event, `live` those at the peak; `timeline` is the
    largest number of live bytes at each schedule index where it changes. `indices` is the schedule index at each event.
    """

    color: int
    peak_bytes: int = 0
    peak_index: int = 0
    peak_instruction: str = ""
    live: list[Span] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    timeline: list[tuple[int, int]] = field(default_factory=list)


def schedule_positions(module: ModuleProto) -> dict[tuple[str, str], int]:
    """(computation, instruction) -> position in the schedule with every inlined callee put before its caller.

    The order is that of XLA's HloLiveRange: the instructions of a loop, branch or call come before the instruction
    that calls them, each computation once.
    """
    positions: dict[tuple[str, str], int] = {}
    entry = module.entry
    if entry is None:
        return positions
    visited = {entry.id}
    stack: list[tuple[ComputationProto, list, int]] = [(entry, module.ordered(entry), 0)]
    while stack:
        computation, order, at = stack.pop()
        while at < len(order):
            instruction = order[at]
            callee = None
            if instruction.opcode in _INLINE:
                # A while names its body first, yet its condition runs first.
                ids = reversed(instruction.called_ids) if instruction.opcode == "while" else instruction.called_ids
                callee = next((module.computation_by_id.get(i) for i in ids if i not in visited), None)
            if callee is not None:
                visited.add(callee.id)
                stack.append((computation, order, at))
                stack.append((callee, module.ordered(callee), 0))
                break
            positions[computation.name, instruction.name] = len(positions)
            at += 1
    return positions


def replay(
    assignment: BufferAssignment,
    positions: dict[tuple[str, str], int],
    exclude: Iterable[int] = (),
) -> dict[int, list[Replay]]:
    """Every trace of the assignment replayed, by memory space. Buffers in `exclude` are counted elsewhere.

    Semantics (xla/service/heap_simulator.cc): `alloc` takes the buffer's bytes, `share` joins the buffer to a canonical
    one (and takes the canonical bytes again if that had been freed), and the bytes go back when the last buffer that
    shares them is freed. Raises ContractLintError for a trace that frees what is not live or names unknown buffers.
    """
    skip = frozenset(exclude)
    spaces: dict[int, list[Replay]] = {}
    for trace in assignment.traces:
        done = _replay_trace(assignment, trace, positions, skip)
        if done is not None:
            spaces.setdefault(done.color, []).append(done)
    return spaces


def _replay_trace(
    assignment: BufferAssignment, trace: HeapTrace, positions: dict[tuple[str, str], int], skip: frozenset[int]
) -> Replay | None:
    buffers = assignment.buffers
    canonical: dict[int, int] = {}
    holders: dict[int, int] = {}
    spans: dict[int, Span] = {}
    ended: dict[int, Span] = {}
    made: Replay | None = None
    live = index = 0
    peak_live: list[Span] = []
    for event in trace.events:
        if event.buffer_id in skip:
            continue
        buffer = buffers.get(event.buffer_id)
        if buffer is None:
            raise ContractLintError(f"the heap trace names buffer {event.buffer_id}, which is not assigned")
        if made is None:
            made = Replay(buffer.color)
        now = len(made.indices)
        made.indices.append(index)
        if event.kind == "free":  # named after the instruction that defined the buffer: no new point in time
            owner = canonical.pop(event.buffer_id, None)
            if owner is None:
                raise ContractLintError(f"the heap trace frees buffer {event.buffer_id}, which is not live")
            holders[owner] -= 1
            if holders[owner] == 0:
                del holders[owner]
                live -= buffers[owner].size
                span = spans.pop(owner)
                span.last = index
                span.events[-1] = (span.events[-1][0], now)
                ended[owner] = span
                _mark(made.timeline, index, live)
            continue
        made.indices[now] = index = max(index, positions.get((event.computation, event.instruction), index))
        owner = event.buffer_id
        if event.kind == "share":
            owner = canonical.get(event.canonical_id, event.canonical_id)
            if owner not in buffers:
                raise ContractLintError(f"the heap trace shares buffer {owner}, which is not assigned")
        if event.buffer_id in canonical:
            raise ContractLintError(f"the heap trace allocates buffer {event.buffer_id} twice")
        canonical[event.buffer_id] = owner
        holders[owner] = holders.get(owner, 0) + 1
        if holders[owner] > 1:
            continue
        span = ended.pop(owner, None)
        if span is None:
            made.spans.append(span := Span(owner, index))
        span.last = None
        span.events.append((now, None))
        spans[owner] = span
        live += buffers[owner].size
        _mark(made.timeline, index, live)
        if live > made.peak_bytes:
            made.peak_bytes, made.peak_index, made.peak_instruction = live, index, event.instruction
            peak_live = []
            made.live = peak_live
        if live == made.peak_bytes and not peak_live:
            peak_live += spans.values()
    return made


def _mark(timeline: list[tuple[int, int]], index: int, live: int) -> None:
    """Keep, for one schedule index, the largest value seen and the last one."""
    if timeline and timeline[-1][0] == index:
        if live > timeline[-1][1]:
            timeline[-1] = (index, live)
        return
    timeline.append((index, live))
