"""Buffers put into memory: arguments and results for the whole step, the rest on a heap along the schedule."""

from __future__ import annotations

from collections.abc import Iterable

from ..assignment import Allocation, BufferAssignment, HeapEvent, HeapTrace, LogicalBuffer
from ..instruction import Instruction
from ..module import HloModule
from .ranges import Group, live_groups
from .schedule import Schedule
from .sharing import may_overwrite
from .values import Value, Values

Ids = dict[int, int]
"""`id(instruction)` -> its number in the proto form of the module."""


def assigned(module: HloModule, ids: Ids, in_place_sums: bool) -> BufferAssignment:
    """The assignment that XLA would print for this schedule, as far as its rules are followed here.

    Temporary memory is as large as its peak: nothing is packed, so there is no fragmentation in it.
    """
    schedule = Schedule(module)
    groups = [group for group in live_groups(module, schedule, Values(schedule)) if group.size]
    made = BufferAssignment({}, [], [], {})
    numbers = {value: number for number, value in enumerate((v for g in groups for v in g.values), 1)}
    for value, number in numbers.items():
        made.buffers[number] = LogicalBuffer(
            number, value.size, ids.get(id(value.instruction), 0), value.instruction.name, value.index, value.space
        )
        if not value.live_out:
            last = schedule.order[value.end]
            made.last_uses[number] = last.computation.name, last.name
    standing, rest = _standing(groups)
    heap: dict[int, list[Group]] = {}
    for group in _reusing(standing, rest):
        heap.setdefault(group.space, []).append(group)
    made.allocations = [_allocation(index, groups, numbers) for index, groups in enumerate(standing)]
    for space, found in sorted(heap.items()):
        events, peak = _Heap(schedule, numbers, in_place_sums).run(found)
        made.traces.append(HeapTrace(events, True))
        temporary = Allocation(len(made.allocations), peak, color=space)
        temporary.assigned = [(numbers[value], 0, value.size) for group in found for value in group.values]
        made.allocations.append(temporary)
    return made


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


def _reusing(standing: list[list[Group]], rest: list[Group]) -> list[Group]:
    """Puts what fits into memory of results, and of arguments given up for results, while that is idle.

    Returns what is left. The largest first, as XLA goes.
    """
    open_ = [held for held in standing if held[0].live_out]
    left = []
    for group in sorted(rest, key=lambda each: (-each.size, each.intervals[0])):
        for held in open_:
            fits = held[0].size >= group.size and held[0].space == group.space
            if fits and not any(group.interferes(other) for other in held):
                held.append(group)
                break
        else:
            left.append(group)
    return left


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


class _Heap:
    """One memory space along the schedule: values take memory where they begin and give it back after they end."""

    def __init__(self, schedule: Schedule, numbers: dict[Value, int], in_place_sums: bool) -> None:
        self.schedule = schedule
        self.numbers = numbers
        self.in_place_sums = in_place_sums
        self.events: list[HeapEvent] = []
        self.group_of: dict[Value, Group] = {}
        self.owner: dict[Group, Value] = {}
        self.living: dict[Value, set[Value]] = {}
        """Owner of memory -> the values that live in it."""
        self.live = self.peak = 0

    def run(self, groups: list[Group]) -> tuple[list[HeapEvent], int]:
        """The events in order, and the most bytes that live at once."""
        starts: dict[int, list[Value]] = {}
        ends: dict[int, list[Value]] = {}
        for group in groups:
            for value in group.values:
                self.group_of[value] = group
                starts.setdefault(value.start, []).append(value)
                ends.setdefault(value.end, []).append(value)
        for at in sorted(starts.keys() | ends.keys()):
            ending = ends.get(at, [])
            for value in sorted(starts.get(at, ()), key=lambda each: -each.size):
                self._begin(value, at, ending)
            for value in ending:
                self._end(value, at)
        return self.events, self.peak

    def _begin(self, value: Value, at: int, ending: list[Value]) -> None:
        group = self.group_of[value]
        owner = self.owner.get(group)
        if owner is None:
            owner = self.owner[group] = self._taken_over(value, ending) or value
        held = self.living.setdefault(owner, set())
        if not held:
            self.live += owner.size
            self.peak = max(self.peak, self.live)
        held.add(value)
        self._note("alloc" if owner is value else "share", value, owner, self.schedule.order[at])

    def _taken_over(self, value: Value, ending: list[Value]) -> Value | None:
        """The memory of an operand that ends here and that this value may be written over."""
        for operand in ending:
            if operand not in self.group_of or self.group_of[operand] is self.group_of[value]:
                continue
            owner = self.owner.get(self.group_of[operand])
            if owner is None or self.living.get(owner) != {operand}:
                continue
            if may_overwrite(value, operand, self.in_place_sums):
                return owner
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
