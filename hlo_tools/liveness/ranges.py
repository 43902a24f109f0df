"""How long every value lives, and which values must lie in one memory.

A loop's state stays where it is: what it starts from, what a round is given, what it returns and the result share
memory, as do the results of branches, an argument given up for a result, and what an operation says it writes in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from ..backend import Backend
from ..instruction import Instruction
from ..module import HloModule
from .in_place import InPlace, aliases
from .schedule import Schedule, condition_and_body
from .values import Value, Values, leaves

_RUNS_NO_USE = frozenset(("get-tuple-element", "tuple", "domain", "call"))
"""These hand on what they read without reading it."""

Interval = tuple[int, int]


@dataclass(slots=True, eq=False)
class Group:
    """Values that must share memory, by the position they begin at; `argument` is that of an entry parameter."""

    values: list[Value]
    argument: Value | None
    intervals: list[Interval]
    size: int = field(init=False)
    space: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = max(value.size for value in self.values)
        self.space = max(value.space for value in self.values)

    @property
    def live_out(self) -> bool:
        return any(value.live_out for value in self.values)

    @property
    def is_constant(self) -> bool:
        return all(map(_is_constant, self.values))

    def interferes(self, other: Group, may_touch: Callable[[Value, Value], bool]) -> bool:
        """Whether both live at some position.

        Where a value of one ends as one of the other begins, `may_touch(the later, the earlier)` decides.
        """
        mine, theirs = self.intervals, other.intervals
        i = j = 0
        while i < len(mine) and j < len(theirs):
            if mine[i][1] < theirs[j][0]:
                i += 1
            elif theirs[j][1] < mine[i][0]:
                j += 1
            elif mine[i][1] == theirs[j][0] and other._follows(self, theirs[j][0], may_touch):
                i += 1
            elif theirs[j][1] == mine[i][0] and self._follows(other, mine[i][0], may_touch):
                j += 1
            else:
                return True
        return False

    def _follows(self, other: Group, at: int, may_touch: Callable[[Value, Value], bool]) -> bool:
        """Whether all that begins here at a position may touch all that ends there in the other."""
        begun = [value for value in self.values if value.start == at]
        ended = [value for value in other.values if value.end == at]
        return all(may_touch(later, earlier) for later in begun for earlier in ended)


class _Sets:
    """Union-find over values."""

    def __init__(self) -> None:
        self._leader: dict[Value, Value] = {}

    def find(self, value: Value) -> Value:
        while (above := self._leader.get(value, value)) is not value:
            self._leader[value] = self._leader.get(above, above)
            value = above
        return value

    def join(self, first: Value | None, *others: Value | None) -> None:
        for other in others:
            if first is not None and other is not None and (a := self.find(first)) is not (b := self.find(other)):
                self._leader[b] = a


def live_groups(module: HloModule, schedule: Schedule, values: Values, backend: Backend) -> list[Group]:
    """Every value that gets memory, in groups, by the position at which each begins."""
    sets = _Sets()
    _define(schedule, values)
    for at, instruction in enumerate(schedule.order):
        _use(instruction, at, schedule, values)
        if instruction.opcode == "while":
            _loop(instruction, schedule, values, sets)
        elif instruction.opcode == "conditional":
            _branches(instruction, schedule, values, sets)
    given_up = _entry(module, schedule, values, sets)
    _written_over(module, schedule, values, sets, backend, given_up)
    return _grouped(module, schedule, values, sets, given_up)


def _written_over(
    module: HloModule, schedule: Schedule, values: Values, sets: _Sets, backend: Backend, given_up: set[Value]
) -> None:
    """Joins what is written in place with what it is written over.

    XLA copies first what is needed later; in a text made by hand, what is needed later keeps its memory.
    """
    over = InPlace(backend)
    for at, instruction in enumerate(schedule.order):
        for result, number, index in over.of(instruction):
            if number >= len(instruction.operands):
                continue
            before, after = values.of(instruction.operands[number], index), values.of(instruction, result)
            if before is None or before.end > at or _is_constant(before):
                continue
            if before in given_up or not _is_argument(before, module):
                sets.join(before, after)


def _is_constant(value: Value) -> bool:
    return value.instruction.opcode == "constant"


def _define(schedule: Schedule, values: Values) -> None:
    for at, instruction in enumerate(schedule.order):
        for index, _ in leaves(instruction.shape):
            value = values.of(instruction, index)
            if value is not None and value.instruction is instruction:
                value.start = at


def _use(instruction: Instruction, at: int, schedule: Schedule, values: Values) -> None:
    if instruction.opcode in _RUNS_NO_USE:
        return
    for operand in instruction.operands:
        for index, _ in leaves(operand.shape):
            value = values.of(operand, index)
            if value is None:
                continue
            used = at
            # What a loop is given is its own from where its body begins; one that hands it on holds it throughout.
            if instruction.opcode == "while" and not values.is_carried(instruction, index):
                pair = condition_and_body(instruction)
                used = schedule.spans[pair[1].name][0] if pair is not None else at
            value.end = max(value.end, used)


def _loop(loop: Instruction, schedule: Schedule, values: Values, sets: _Sets) -> None:
    pair = condition_and_body(loop)
    if pair is None or not pair[1].parameters or not loop.operands:
        return
    condition, body = pair
    end = schedule.spans[body.name][1] + 1
    tested = condition.parameters[:1]
    verdict = values.of(condition.root, ())
    if verdict is not None:
        verdict.end = max(verdict.end, schedule.spans[condition.name][1] + 1)
    for index, _ in leaves(loop.shape):
        returned = values.of(body.root, index)
        given = [values.of(parameter, index) for parameter in (*tested, body.parameters[0])]
        sets.join(values.of(loop.operands[0], index), *given, returned, values.of(loop, index))
        if returned is not None:
            returned.end = max(returned.end, end)


def _branches(conditional: Instruction, schedule: Schedule, values: Values, sets: _Sets) -> None:
    for index, _ in leaves(conditional.shape):
        result = values.of(conditional, index)
        for branch in conditional.called:
            returned = values.of(branch.root, index)
            sets.join(result, returned)
            if returned is not None and branch.name in schedule.spans:
                returned.end = max(returned.end, schedule.spans[branch.name][1] + 1)


def _entry(module: HloModule, schedule: Schedule, values: Values, sets: _Sets) -> set[Value]:
    """Marks what the program returns; the arguments whose memory results take over."""
    entry = module.entry
    given_up: set[Value] = set()
    for result, number, index in aliases(module.attributes.get("input_output_alias", "")):
        parameters = entry.parameters
        argument = values.of(parameters[number], index) if number < len(parameters) else None
        returned = values.of(entry.root, result)
        if argument is not None and returned is not None:
            sets.join(argument, returned)
            given_up.add(argument)
    for index, _ in leaves(entry.root.shape):
        value = values.of(entry.root, index)
        if value is not None:
            value.end, value.live_out = schedule.last, True
    return given_up


def _grouped(module: HloModule, schedule: Schedule, values: Values, sets: _Sets, given_up: set[Value]) -> list[Group]:
    members: dict[Value, list[Value]] = {}
    living = [value for value in values if value.start >= 0]
    for value in living:
        if _is_argument(value, module):
            value.start = 0
            value.end = value.end if value in given_up else schedule.last
    for value in sorted(living, key=lambda each: (each.start, each.index)):
        value.end = max(value.end, value.start)
        members.setdefault(sets.find(value), []).append(value)
    for found in members.values():
        _in_turn(found)
    return [
        Group(found, next((each for each in found if _is_argument(each, module)), None), _merged(found))
        for found in members.values()
    ]


def _in_turn(values: list[Value]) -> None:
    """In one memory a value lives until the next begins, the last as long as any (NormalizeAliasedBuffers)."""
    values.sort(key=lambda each: (each.start, each.end, each.index))
    for value, following in pairwise(values):
        following.end = max(value.end, following.end)
        value.end = min(value.end, following.start)


def _is_argument(value: Value, module: HloModule) -> bool:
    return value.instruction.opcode == "parameter" and value.instruction.computation is module.entry


def _merged(values: list[Value]) -> list[Interval]:
    """The positions at which any of these lives; `values` by their start."""
    found: list[Interval] = []
    for value in values:
        if found and value.start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], value.end)
        else:
            found.append((value.start, value.end))
    return found
