"""How often each computation runs in one execution of the program: loops multiplied, branches as most and least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ..contracts.errors import ContractLintError
from .instruction import Instruction
from .module import Computation, HloModule
from .trip_counts import trip_count

Number = int | Fraction

# Opcodes whose computations are worth following. `async-update` and `async-done` name the computation their
# `async-start` runs: they run nothing. Reducers, comparators and the like hold scalar code and run per element.
_CALLERS = frozenset(
    ("while", "conditional", "call", "fusion", "async-start", "custom-call", "call-start", "fusion-start")
)


@dataclass(frozen=True, slots=True)
class Run:
    """Executions per step. `count_min` < `count` below a conditional; `depth` is the number of loops around.

    `unknown` names the loops around it whose trip count the program does not tell: they are counted as one round.
    """

    count: int
    count_min: int
    depth: int
    unknown: tuple[str, ...] = ()


NEVER = Run(0, 0, 0)


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


def executions(module: HloModule, cost: Mapping[str, Number] | None = None) -> Executions:
    """Executions of every computation reachable from the entry.

    At a conditional, `count` follows the branch with the highest `cost` (a cost per execution for each computation's
    own instructions, loops and calls below it are added here) and `count_min` the one with the lowest, so that sums
    over all computations are those of the dearest and of the cheapest path. Without `cost` every branch may run:
    `count` is that of the conditional, `count_min` 0.

    Raises ContractLintError where computations call each other in a circle.
    """
    calls, result = _calls(module)
    order = _callers_first(module.entry.name, calls)
    totals = _inclusive(order, calls, cost) if cost is not None else None
    count, least = {module.entry.name: 1}, {module.entry.name: 1}
    depth = {module.entry.name: 0}
    unknown: dict[str, dict[str, None]] = {module.entry.name: {}}
    for name in order:
        for call in calls.get(name, ()):
            most, fewest = _choices(call, totals)
            for callee in dict.fromkeys(call.callees):
                count[callee] = count.get(callee, 0) + count[name] * most.get(callee, 0) * call.trips
                least[callee] = least.get(callee, 0) + least[name] * fewest.get(callee, 0) * call.trips
                depth[callee] = max(depth.get(callee, 0), depth[name] + (call.kind == "while"))
                around = unknown.setdefault(callee, {})
                around.update(unknown[name])
                if call.unknown:
                    around[call.unknown] = None
    for name in order:
        result.runs[name] = Run(count[name], least[name], depth[name], tuple(unknown[name]))
    return result


def _calls(module: HloModule) -> tuple[dict[str, list[_Call]], Executions]:
    calls: dict[str, list[_Call]] = {}
    result = Executions()
    for computation in module.computations:
        opcodes = computation.opcodes()
        if _CALLERS.isdisjoint(opcodes):
            continue
        found = []
        for position, opcode in enumerate(opcodes):
            if opcode in _CALLERS:
                call = _call(computation, computation.instructions[position], result)
                if call is not None:
                    found.append(call)
        if found:
            calls[computation.name] = found
    return calls, result


def _call(computation: Computation, instruction: Instruction, result: Executions) -> _Call | None:
    callees = tuple(callee.name for callee in instruction.called)
    if not callees:
        return None
    if instruction.opcode != "while":
        return _Call(computation.name, callees, instruction.opcode)
    trips = trip_count(instruction)
    result.trip_counts[instruction.name] = trips
    unknown = instruction.name if trips is None else None
    return _Call(computation.name, callees, "while", 1 if trips is None else trips, unknown)


def _choices(call: _Call, totals: Mapping[str, tuple[Number, Number]] | None) -> tuple[dict[str, int], dict[str, int]]:
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
    dearest = max(call.callees, key=lambda c: totals[c][0])
    cheapest = min(call.callees, key=lambda c: totals[c][1])
    return {dearest: 1}, {cheapest: 1}


def _inclusive(
    order: list[str], calls: Mapping[str, list[_Call]], cost: Mapping[str, Number]
) -> dict[str, tuple[Number, Number]]:
    """(dearest, cheapest) cost of one execution of each computation with everything below it."""
    totals: dict[str, tuple[Number, Number]] = {}
    for name in reversed(order):
        most = fewest = cost.get(name, 0)
        for call in calls.get(name, ()):
            top, low = _choices(call, totals)
            most += call.trips * sum(n * totals[c][0] for c, n in top.items())
            fewest += call.trips * sum(n * totals[c][1] for c, n in low.items())
        totals[name] = (most, fewest)
    return totals


def _callers_first(entry: str, calls: Mapping[str, list[_Call]]) -> list[str]:
    """The computations below the entry, each after all of its callers."""
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
        raise ContractLintError(f"computations call each other in a circle: {', '.join(stuck)}")
    return order
