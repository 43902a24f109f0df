"""Buffers put into memory: arguments and results for the whole step, the rest on a heap along the schedule."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from functools import partial

from ..assignment import Allocation, BufferAssignment, HeapEvent, HeapTrace, LogicalBuffer
from ..backend import Backend
from ..instruction import Instruction
from ..module import HloModule
from ..packing import packed
from .ranges import Group, Interval, live_groups
from .schedule import Schedule
from .sharing import may_overwrite, may_touch
from .tables import pointer_tables
from .values import Index, Value, Values

Ids = dict[int, int]
"""`id(instruction)` -> its number in the proto form of the module."""


_ALIGNMENT: dict[Backend, int] = {"cpu": 64, "gpu": 128}
"""Bytes (cpu_function_runtime::MinAlign, gpu::kXlaAllocatedBufferAlignBytes). TPU packs otherwise."""


def assigned(module: HloModule, ids: Ids, backend: Backend) -> BufferAssignment:
    """The assignment that XLA would print for this schedule, as far as its rules are followed here.

    Temporary memory is packed as XLA packs it on CPU and GPU. On TPU it is as large as its peak.
    """
    schedule = Schedule(module)
    values = Values(schedule)
    groups = [group for group in live_groups(module, schedule, values, backend) if group.size]
    made = BufferAssignment({}, [], [], {})
    post_order = schedule.post_order()
    found = sorted((value for group in groups for value in group.values), key=_defined(schedule, post_order))
    numbers = {value: number for number, value in enumerate(found, 1)}
    for value, number in numbers.items():
        made.buffers[number] = LogicalBuffer(
            number, value.size, ids.get(id(value.instruction), 0), value.instruction.name, value.index, value.space
        )
        if not value.live_out:
            last = schedule.order[value.end]
            made.last_uses[number] = last.computation.name, last.name
    standing, rest = _standing(groups)
    heap: dict[int, list[Group]] = {}
    for group in _reusing(standing, rest, post_order, partial(may_touch, values, backend=backend)):
        heap.setdefault(group.space, []).append(group)
    made.allocations = [_allocation(index, groups, numbers) for index, groups in enumerate(standing)]
    for space, on_heap in sorted(heap.items()):
        done = _Heap(schedule, numbers, backend).run(on_heap)
        made.traces.append(HeapTrace(done.events, True))
        temporary = Allocation(len(made.allocations), done.peak, color=space)
        temporary.assigned = [(numbers[value], 0, value.size) for group in on_heap for value in group.values]
        if backend in _ALIGNMENT:
            tables = pointer_tables(schedule, module.entry) if space == 0 else []
            temporary.size = _packed(made, tables, _ALIGNMENT[backend])
        made.allocations.append(temporary)
    return made


def _defined(schedule: Schedule, post_order: dict[int, int]) -> Callable[[Value], tuple[bool, int, int, Index]]:
    """XLA numbers values as its dataflow analysis meets them: callees first, and the states of loops when all else is
    known. Values alike are packed in that order."""
    place = {computation.name: number for number, computation in enumerate(schedule.computations)}

    def key(value: Value) -> tuple[bool, int, int, Index]:
        made = value.instruction
        caller = schedule.callers.get(made.computation.name)
        of_loop = made.opcode == "parameter" and caller is not None and caller.opcode == "while"
        is_joined = of_loop or made.opcode in ("while", "conditional")
        return is_joined, place[made.computation.name], post_order[id(made)], value.index

    return key


def _packed(made: BufferAssignment, tables: list[int], alignment: int) -> int:
    """Bytes of the newest trace on the heap and of the tables of pointers behind it, the smallest first.

    Each begins at a multiple of `alignment`. XLA sorts them by a partition that keeps no order, so the last one, which
    is not rounded up, may be another.
    """
    end, _ = packed(made.traces[-1], made.buffers, alignment)
    for size in sorted(tables):
        end = -(-end // alignment) * alignment + size
    return end


def _standing(groups: Iterable[Group]) -> tuple[list[list[Group]], list[Group]]:
    """Groups that have memory for the whole step, each in a list that others may join; and those that do not."""
    standing: list[list[Group]] = []
    rest: list[Group] = []
    for group in groups:
        if group.argument is not None or group.live_out or group.is_constant:
            standing.append([group])
        else:
            rest.append(group)
    return standing, rest


def _reusing(
    standing: list[list[Group]], rest: list[Group], post_order: dict[int, int], touches: Callable[[Value, Value], bool]
) -> list[Group]:
    """Puts what fits into memory of results, and of arguments given up for results, while that is idle.

    Returns what is left. The largest first, then by its first instruction in post order, as XLA goes; each into the
    smallest memory that fits, and of those alike into the one that comes last in that order.
    """

    def in_turn(group: Group) -> tuple[int, int]:
        return -group.size, min(post_order[id(value.instruction)] for value in group.values)

    lent = sorted((held for held in standing if held[0].live_out), key=lambda held: in_turn(held[0]), reverse=True)
    open_ = [_Held(held) for held in lent]
    left = []
    for group in sorted(rest, key=in_turn):
        for held in open_:
            if held.size >= group.size and held.space == group.space and held.has_room(group, touches):
                held.add(group)
                break
        else:
            left.append(group)
    return left


class _Held:
    """Memory and the groups that take turns in it, to be asked for room: only neighbours in time are looked at."""

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.size, self.space = groups[0].size, groups[0].space
        self._taken: list[tuple[Interval, int]] = []
        """When it is in use, with the place of the group; no two overlap, though one may end as another begins."""
        for place, group in enumerate(groups):
            self._taken += [(interval, place) for interval in group.intervals]
        self._taken.sort()

    def has_room(self, group: Group, touches: Callable[[Value, Value], bool]) -> bool:
        """Whether no group in it lives together with this one."""
        seen: set[int] = set()
        for begin, end in group.intervals:
            at = bisect_left(self._taken, begin, key=_end_of)
            while at < len(self._taken) and self._taken[at][0][0] <= end:
                place = self._taken[at][1]
                if place not in seen:
                    seen.add(place)
                    if group.interferes(self.groups[place], touches):
                        return False
                at += 1
        return True

    def add(self, group: Group) -> None:
        for interval in group.intervals:
            insort(self._taken, (interval, len(self.groups)))
        self.groups.append(group)


def _end_of(taken: tuple[Interval, int]) -> int:
    return taken[0][1]


def _allocation(index: int, held: list[Group], numbers: dict[Value, int]) -> Allocation:
    group = held[0]
    made = Allocation(index, group.size, color=group.space)
    made.assigned = [(numbers[value], 0, value.size) for each in held for value in each.values]
    if group.argument is not None:
        made.is_entry_parameter = True
        made.parameter_number = group.argument.instruction.parameter_number or 0
        made.parameter_shape_index = group.argument.index
        made.aliased_with_output = group.live_out
    made.maybe_live_out = group.live_out
    made.is_constant = group.argument is None and group.is_constant
    return made


def _in_turn(value: Value) -> tuple[int, int, Index]:
    """In this order values that begin or end together do so, as in XLA's heap simulator."""
    return value.start, value.end, value.index


class _Heap:
    """One memory space along the schedule: values take memory where they begin and give it back after they end."""

    def __init__(self, schedule: Schedule, numbers: dict[Value, int], backend: Backend) -> None:
        self.schedule = schedule
        self.numbers = numbers
        self.backend: Backend = backend
        self.events: list[HeapEvent] = []
        self.group_of: dict[Value, Group] = {}
        self.owner: dict[Group, Value] = {}
        self.living: dict[Value, set[Value]] = {}
        """Owner of memory -> the values that live in it."""
        self.live = self.peak = 0

    def run(self, groups: list[Group]) -> _Heap:
        """Fills `events`, in order, and `peak`, the most bytes that live at once."""
        starts: dict[int, list[Value]] = {}
        ends: dict[int, list[Value]] = {}
        for group in groups:
            for value in group.values:
                self.group_of[value] = group
                starts.setdefault(value.start, []).append(value)
                ends.setdefault(value.end, []).append(value)
        for at in sorted(starts.keys() | ends.keys()):
            ending = ends.get(at, [])
            for value in sorted(starts.get(at, ()), key=_in_turn):
                self._begin(value, at, ending)
            for value in sorted(ending, key=_in_turn):
                self._end(value, at)
        return self

    def _begin(self, value: Value, at: int, ending: list[Value]) -> None:
        group = self.group_of[value]
        owner = self.owner.get(group)
        if owner is None:
            operand = self._taken_over(value, ending)
            owner = self.owner[group] = value if operand is None else self.owner[self.group_of[operand]]
            if operand is not None:
                ending.remove(operand)
                self._end(operand, at)
        held = self.living.setdefault(owner, set())
        if not held:
            self.live += owner.size
            self.peak = max(self.peak, self.live)
        held.add(value)
        self._note("alloc" if owner is value else "share", value, owner, self.schedule.order[at])

    def _taken_over(self, value: Value, ending: list[Value]) -> Value | None:
        """The operand that ends here and whose memory this value may be written over; each alone in its group."""
        if len(self.group_of[value].values) > 1:
            return None
        places = {id(operand): place for place, operand in reversed([*enumerate(value.instruction.operands)])}
        for operand in sorted(ending, key=lambda each: places.get(id(each.instruction), len(places))):
            if len(self.group_of[operand].values) > 1:
                continue
            owner = self.owner.get(self.group_of[operand])
            if owner is None or self.living.get(owner) != {operand}:
                continue
            if may_overwrite(value, operand, self.backend):
                return operand
        return None

    def _end(self, value: Value, at: int) -> None:
        owner = self.owner[self.group_of[value]]
        held = self.living[owner]
        held.discard(value)
        if not held:
            self.live -= owner.size
        self._note("free", value, owner, self.schedule.order[at])

    def _note(self, kind: str, value: Value, owner: Value, where: Instruction) -> None:
        assert kind in ("alloc", "free", "share")
        self.events.append(
            HeapEvent(kind, self.numbers[value], self.numbers[owner], where.computation.name, where.name)
        )
