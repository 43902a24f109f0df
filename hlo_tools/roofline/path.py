"""The least time of a step in the order in which it is scheduled: what runs beside what, and what is waited for.

Kernels run one after the other, each for the longer of its matrix products at their peak and its bytes at the rate of
device memory. A collective holds the links (or the network) that it needs from its start on, or from when those before
it have left them; an asynchronous copy queues at device memory. The `-done` of either waits for it. A loop takes its
rounds, a conditional its dearest branch. Every moment that passes is put down to the resource that the instruction
waited for, so that the parts sum up to the whole.

Loops and branches are looked at one by one: what was started before one runs on beside it, but takes nothing of the
wires inside. Latencies count nothing, so it is a bound too, nearer than that of the busiest resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...contracts.target_name import TargetName
from ..collectives import CollectiveLedger
from ..cost.each import Each
from ..cost.opcodes import PLUMBING
from ..in_flight import Schedule
from ..instruction import Instruction
from ..loops import executions
from ..module import Computation, HloModule
from ..scope import scope_of
from .rates import peak_for
from .wires import Sending, sendings

COMPUTE, MEMORY = "compute", "HBM"
_PICO = 1e12
_RUNS = ("while", "conditional", "call")
_PAIRS = ("-start", "-done")


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction: seconds of a step that pass with it, all executions together, and what they are spent on."""

    name: str
    computation: str
    bound: str
    seconds: float
    count: int
    source: str | None
    scope: str

    def as_json(self) -> dict[str, Any]:
        names = ("name", "computation", "bound", "seconds", "count", "source", "scope")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Path:
    """The step as scheduled. `operations` are those that take time, the longest first."""

    seconds: float
    operations: list[Operation] = field(default_factory=list)

    def by_resource(self) -> dict[str, float]:
        """Seconds by what they are spent on, the most first; they sum up to the step."""
        found: dict[str, float] = {}
        for each in self.operations:
            found[each.bound] = found.get(each.bound, 0.0) + each.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def by_scope(self) -> list[tuple[str, float, str]]:
        """Scope, seconds, and what most of them are spent on."""
        found: dict[str, dict[str, float]] = {}
        for each in self.operations:
            spent = found.setdefault(scope_of(each.scope), {})
            spent[each.bound] = spent.get(each.bound, 0.0) + each.seconds
        rows = [(scope, sum(spent.values()), max(spent, key=lambda b: spent[b])) for scope, spent in found.items()]
        return sorted(rows, key=lambda row: -row[1])

    def as_json(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "by_resource": self.by_resource(),
            "by_scope": [{"scope": scope, "seconds": spent, "bound": bound} for scope, spent, bound in self.by_scope()],
            "operations": [each.as_json() for each in self.operations],
        }


def path(module: HloModule, ledger: CollectiveLedger, target: TargetName) -> Path | None:
    """The step of `module` on `target`, as scheduled; None for a program without a schedule or without published
    rates. Raises ContractLintError for what cannot be read."""
    if not module.is_scheduled or target.kind.hbm_rate is None:
        return None
    walk = _Walk(module, ledger, target)
    order = _callees_first(module.entry)
    for computation in order:
        walk.run(computation)
    own = {name: round(sum(spent for _, spent, _ in rows) * _PICO) for name, rows in walk.rows.items()}
    runs = executions(module, own)
    found = [
        Operation(made.name, name, bound, spent * count, count, made.source, made.op_name)
        for name, rows in walk.rows.items()
        if (count := runs.of(name).dearest)
        for made, spent, bound in rows
        if spent
    ]
    found.sort(key=lambda each: (-each.seconds, each.computation, each.name))
    return Path(walk.seconds[module.entry.name], found)


@dataclass(slots=True)
class _Clock:
    """One computation as it runs: now, until when device memory and each wire are taken, and what is under way."""

    now: float = 0.0
    memory: float = 0.0
    wires: dict[str, float] = field(default_factory=dict)
    due: dict[int, tuple[float, str]] = field(default_factory=dict)

    def through_memory(self, seconds: float) -> float:
        """When a transfer of so many seconds ends that begins now at the earliest."""
        if seconds:
            self.memory = max(self.now, self.memory) + seconds
            return self.memory
        return self.now

    def send(self, sending: Sending) -> float:
        """When a collective ends that is started now."""
        start = max([self.now, *(self.wires.get(wire, 0.0) for wire in sending.wires)])
        for wire in sending.wires:
            self.wires[wire] = start + sending.seconds
        return start + sending.seconds


class _Walk:
    """Runs computations, callees before callers. `seconds` of one execution; `rows`: (instruction, seconds, resource)
    of its own instructions, loops and branches left out."""

    def __init__(self, module: HloModule, ledger: CollectiveLedger, target: TargetName) -> None:
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, list[tuple[Instruction, float, str]]] = {}
        self._each = Each(module)
        self._kind = target.kind
        rate = target.kind.hbm_rate
        assert rate is not None
        self._memory_rate = target.kind.share(rate)
        schedule = Schedule(module)
        self._sent: dict[int, list[tuple[Sending, Instruction]]] = {}
        for row, sending in sendings(ledger, target):
            if row.instruction is not None:
                start, done = schedule.ends(row.instruction)
                self._sent.setdefault(id(start), []).append((sending, done))

    def run(self, computation: Computation) -> None:
        clock, rows = _Clock(), []
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in PLUMBING and opcode not in _RUNS and not opcode.endswith(_PAIRS):
                continue
            made = computation.instruction_at(position)
            before = clock.now
            if opcode in _RUNS:
                clock.now += self._inside(made)
                continue
            bound = self._execute(made, clock)
            rows.append((made, clock.now - before, bound))
        # What is under way at the end is waited for by whoever reads it: here at the latest.
        for end, bound in sorted(clock.due.values()):
            if end > clock.now:
                rows.append((computation.root, end - clock.now, bound))
                clock.now = end
        self.seconds[computation.name] = clock.now
        self.rows[computation.name] = rows

    def _inside(self, made: Instruction) -> float:
        spent = [self.seconds.get(callee.name, 0.0) for callee in made.called]
        if made.opcode == "conditional":
            return max(spent, default=0.0)
        return sum(spent) * (self._each.rounds(made) if made.opcode == "while" else 1)

    def _execute(self, made: Instruction, clock: _Clock) -> str:
        """Moves the clock on; what the time that passes is spent on."""
        due = clock.due.pop(id(made), None)
        bound = MEMORY
        if due is not None and due[0] > clock.now:
            clock.now, bound = due
        if made.opcode.endswith("-done"):
            return bound
        moved = self._each.bytes(made).device / self._memory_rate
        sent = self._sent.get(id(made))
        if sent is not None:
            for sending, done in sent:
                whole = moved + self._written(done)
                end = max(clock.send(sending), clock.through_memory(whole))
                wait = sending.name if sending.seconds >= whole else MEMORY
                if done is made:
                    clock.now, bound = end, wait
                else:
                    clock.due[id(done)] = max(clock.due.get(id(done), (0.0, "")), (end, wait))
            return bound
        if made.opcode.endswith("-start"):
            done = next((user for user in made.users if user.opcode.endswith("-done")), None)
            if done is not None:
                clock.due[id(done)] = clock.through_memory(moved + self._written(done)), MEMORY
            return bound
        multiplied = self._compute(made)
        start = clock.now
        clock.now = max(start + multiplied, clock.through_memory(moved))
        return COMPUTE if multiplied and start + multiplied >= clock.now else bound

    def _written(self, done: Instruction) -> float:
        """Seconds for what a `-done` finds written: it is written while the transfer is under way."""
        return self._each.bytes(done).device / self._memory_rate if done.opcode.endswith("-done") else 0.0

    def _compute(self, made: Instruction) -> float:
        seconds = 0.0
        for dtype, flops in self._each.products(made).items():
            peak = peak_for(self._kind, dtype)
            if peak is not None:
                seconds += flops / self._kind.share(peak[1])
        return seconds


def _callees_first(entry: Computation) -> list[Computation]:
    """What the entry runs, loops, branches and calls, each after what it runs itself; circles are cut."""
    order: list[Computation] = []
    seen = {entry.name}
    stack: list[tuple[Computation, Iterator[Computation]]] = [(entry, _runs(entry))]
    while stack:
        computation, callees = stack[-1]
        callee = next((each for each in callees if each.name not in seen), None)
        if callee is None:
            order.append(computation)
            stack.pop()
        else:
            seen.add(callee.name)
            stack.append((callee, _runs(callee)))
    return order


def _runs(computation: Computation) -> Iterator[Computation]:
    for position, opcode in enumerate(computation.opcodes()):
        if opcode in _RUNS:
            yield from computation.instruction_at(position).called
