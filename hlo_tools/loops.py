"""How often each computation runs in one execution of the program: loops multiplied, branches as most and least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..contracts.errors import ContractLintError
from .instruction import Instruction
from .module import Computation, HloModule
from .trip_counts import trip_count

# Nested trip counts beyond this are no program.
_MAX_BITS = 512
# Opcodes whose computations are worth following. `async-update` and `async-done` name the computation their
# `async-start` runs: they run nothing. Reducers, comparators and the like hold scalar code and run per element.
_CALLERS = frozenset(
    ("while", "conditional", "call", "fusion", "async-start", "custom-call", "call-start", "fusion-start")
)


@dataclass(frozen=True, slots=True)
class Run:
    """Executions per step. `count_min` < `count` below a conditional; `depth` is the number of loops around.

    `count` and `count_min` are the most and the fewest that a step can have of this computation alone: sums over
    several take `dearest` or `cheapest`, its executions where every conditional takes its dearest, or cheapest, branch.
    `unknown` names the loops around it whose trip count the program does not tell: they are counted as one round.
    """

    count: int
    count_min: int
    depth: int
    dearest: int
    cheapest: int
    unknown: tuple[str, ...] = ()


_FREE = (0, 0)
NEVER = Run(0, 0, 0, 0, 0)


@dataclass(slots=True)
class Executions:
    """`runs` by computation name; a computation the entry never reaches is absent."""

    runs: dict[str, Run] = field(default_factory=dict)
    trip_counts: dict[str, int | None] = field(default_factory=dict)

    def of(self, computation: Computation | str) -> Run:
        return self.runs.get(computation if isinstance(computation, str) else computation.name, NEVER)

    @property
    def unknown_loops(self) -> list[str]:
        """Loops without a known trip count, in program order."""
        return [name for name, count in self.trip_counts.items() if count is None]


@dataclass(slots=True)
class _Call:
    caller: str
    callees: tuple[str, ...]
    kind: str
    trips: int = 1
    unknown: str | None = None


def executions(module: HloModule, cost: Mapping[str, int] | None = None) -> Executions:
    """Executions of every computation reachable from the entry.

    With `cost` (what one execution of a computation's own instructions costs; loops and calls below are added here)
    only computations that have a cost, or call one that has, are followed. `dearest` then follows the dearest branch
    of a conditional and `cheapest` the cheapest, so that sums over all computations are those of one path. Without
    `cost` no branch is dearer than another: `dearest` is `count`, `cheapest` is `count_min`.

    Raises ContractLintError where computations call each other in a circle.
    """
    calls, loops = _all_calls(module) if cost is None else _calls_towards(module, cost)
    entry = module.entry.name
    order = _callers_first(module, calls)
    totals = _inclusive(order, calls, cost) if cost is not None else None
    possible = _possible(entry, order, calls)
    most, fewest, depth = {entry: 1}, {entry: 1}, {entry: 0}
    unknown: dict[str, dict[str, None]] = {entry: {}}
    for name in order:
        for call in calls.get(name, ()):
            top, low = _choices(call, totals)
            for callee in dict.fromkeys(call.callees):
                most[callee] = most.get(callee, 0) + most[name] * top.get(callee, 0) * call.trips
                fewest[callee] = fewest.get(callee, 0) + fewest[name] * low.get(callee, 0) * call.trips
                depth[callee] = max(depth.get(callee, 0), depth[name] + (call.kind == "while"))
                around = unknown.setdefault(callee, {})
                around.update(unknown[name])
                if call.unknown:
                    around[call.unknown] = None
    runs = {}
    for name in order:
        count, least = possible[name]
        path = (most[name], fewest[name]) if totals is not None else (count, least)
        runs[name] = Run(count, least, depth[name], *path, tuple(unknown[name]))
    return Executions(runs, {name: trips for caller, name, trips in loops if caller in runs})


Calls = dict[str, list[_Call]]
Loops = list[tuple[str, str, int | None]]
"""(computation, while instruction, trip count)"""


def _all_calls(module: HloModule) -> tuple[Calls, Loops]:
    calls: Calls = {}
    loops: Loops = []
    for computation in module.computations:
        for instruction in _callers(computation):
            if instruction.called:
                calls.setdefault(computation.name, []).append(_call(instruction, loops))
    return calls, loops


def _calls_towards(module: HloModule, targets: Mapping[str, int]) -> tuple[Calls, Loops]:
    """The calls on the way to a target. Callees are printed before callers; a text in another order is read twice."""
    callers = [(computation, _callers(computation)) for computation in module.computations]
    _refuse_circles(module, callers)
    wanted, before = set(targets), -1
    while before != len(wanted):
        before = len(wanted)
        for computation, instructions in callers:
            if computation.name not in wanted and any(c.name in wanted for i in instructions for c in i.called):
                wanted.add(computation.name)
    calls: Calls = {}
    loops: Loops = []
    for computation, instructions in callers:
        if computation.name in wanted:
            for instruction in instructions:
                if any(callee.name in wanted for callee in instruction.called):
                    calls.setdefault(computation.name, []).append(_call(instruction, loops))
    return calls, loops


def _refuse_circles(module: HloModule, callers: list[tuple[Computation, list[Instruction]]]) -> None:
    """Computations are printed before their callers; only where one is not can there be a circle."""
    printed = {computation.name: place for place, computation in enumerate(module.computations)}
    if any(printed[c.name] >= printed[caller.name] for caller, made in callers for i in made for c in i.called):
        calls = {
            caller.name: [_Call(caller.name, tuple(c.name for c in i.called), i.opcode) for i in made]
            for caller, made in callers
        }
        _callers_first(module, calls)


def _callers(computation: Computation) -> list[Instruction]:
    opcodes = computation.opcodes()
    if _CALLERS.isdisjoint(opcodes):
        return []
    return [computation.instruction_at(i) for i, opcode in enumerate(opcodes) if opcode in _CALLERS]


def _call(instruction: Instruction, loops: Loops) -> _Call:
    caller = instruction.computation.name
    callees = tuple(callee.name for callee in instruction.called)
    if instruction.opcode != "while":
        return _Call(caller, callees, instruction.opcode)
    trips = trip_count(instruction)
    loops.append((caller, instruction.name, trips))
    return _Call(caller, callees, "while", 1 if trips is None else trips, instruction.name if trips is None else None)


def _possible(entry: str, order: list[str], calls: Calls) -> dict[str, tuple[int, int]]:
    """The most and the fewest executions of each computation that any choice of branches gives."""
    sites: dict[str, list[tuple[str, _Call]]] = {}
    for name in order:
        for call in calls.get(name, ()):
            for callee in dict.fromkeys(call.callees):
                sites.setdefault(callee, []).append((name, call))
    found = {entry: (1, 1)}
    chosen: set[str] = set()
    for name in order:
        around = sites.get(name, [])
        if any(caller in chosen or _is_choice(call) for caller, call in around):
            chosen.add(name)
        if name in chosen and len(around) > 1:
            found[name] = _extremes(entry, name, order, sites)
        elif around:
            most = fewest = 0
            for caller, call in around:
                top, low = _choices(call, None)
                most += found[caller][0] * top[name] * call.trips
                fewest += found[caller][1] * low[name] * call.trips
            found[name] = (most, fewest)
        if found[name][0].bit_length() > _MAX_BITS:
            raise ContractLintError(f"computation {name!r} would run more than 2**{_MAX_BITS} times")
    return found


def _is_choice(call: _Call) -> bool:
    return call.kind == "conditional" and len(set(call.callees)) > 1


def _extremes(
    entry: str, target: str, order: list[str], sites: Mapping[str, list[tuple[str, _Call]]]
) -> tuple[int, int]:
    """The same for a computation that several calls run: where these are in different branches, they do not add up."""
    above: Calls = {}
    pending, seen = [target], {target}
    while pending:
        for caller, call in sites.get(pending.pop(), ()):
            above.setdefault(caller, []).append(call)
            if caller not in seen:
                seen.add(caller)
                pending.append(caller)
    distinct = {name: list({id(call): call for call in held}.values()) for name, held in above.items()}
    return _inclusive([name for name in order if name in seen], distinct, {target: 1})[entry]


def _choices(call: _Call, totals: Mapping[str, tuple[int, int]] | None) -> tuple[dict[str, int], dict[str, int]]:
    """How often each callee runs in one round of a call, on the dearest and on the cheapest path."""
    if call.kind != "conditional":
        times: dict[str, int] = {}
        for callee in call.callees:
            times[callee] = times.get(callee, 0) + 1
        return times, times
    if len(set(call.callees)) == 1:
        only = {call.callees[0]: 1}
        return only, only
    if totals is None:
        return dict.fromkeys(call.callees, 1), dict.fromkeys(call.callees, 0)
    dearest = max(call.callees, key=lambda c: totals.get(c, _FREE)[0])
    cheapest = min(call.callees, key=lambda c: totals.get(c, _FREE)[1])
    return {dearest: 1}, {cheapest: 1}


def _inclusive(
    order: list[str], calls: Mapping[str, list[_Call]], cost: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """(dearest, cheapest) cost of one execution of each computation with everything below it."""
    totals: dict[str, tuple[int, int]] = {}
    for name in reversed(order):
        most = fewest = cost.get(name, 0)
        for call in calls.get(name, ()):
            top, low = _choices(call, totals)
            most += call.trips * sum(n * totals.get(c, _FREE)[0] for c, n in top.items())
            fewest += call.trips * sum(n * totals.get(c, _FREE)[1] for c, n in low.items())
        totals[name] = (most, fewest)
    return totals


def _callers_first(module: HloModule, calls: Mapping[str, list[_Call]]) -> list[str]:
    """The computations below the entry, each after all of its callers."""
    entry = module.entry.name
    reached = {entry}
    stack = [entry]
    callers: dict[str, int] = {entry: 0}
    while stack:
        name = stack.pop()
        for call in calls.get(name, ()):
            for callee in call.callees:
                callers[callee] = callers.get(callee, 0) + 1
                if callee not in reached:
                    reached.add(callee)
                    stack.append(callee)
    order, ready = [], [entry] if not callers[entry] else []
    while ready:
        name = ready.pop()
        order.append(name)
        for call in calls.get(name, ()):
            for callee in call.callees:
                callers[callee] -= 1
                if not callers[callee]:
                    ready.append(callee)
    if len(order) < len(reached):
        stuck = sorted(reached - set(order))[:5]
        first = module.find(stuck[0])
        message = f"computations call each other in a circle: {', '.join(stuck)}"
        raise ContractLintError(message, first.location if first is not None else None)
    return order
