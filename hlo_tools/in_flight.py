"""When a collective runs in the schedule, when its result is read, and what runs meanwhile.

    %all-gather-start ... %all-gather-done        a pair; `async-start` (or `call-start`) of a wrapped collective alike
    %fusion (AsyncCollectiveStart) ... %fusion.9 (AsyncCollectiveDone)      TPU's asynchronous fusions, one chain
    %send ... %recv-done       between TPU slices: what is received is there where the `recv` is done
    %while                     a windowed product: its permutes run beside the products of the loop they stand in
    %all-reduce                by itself: nothing runs meanwhile

Positions count the instructions of the computation that holds the start, as printed: of a scheduled program that is the
order in which they run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .async_fusions import Mark, ends, mark
from .cost.each import Each
from .cost.opcodes import PLUMBING
from .flow import Flow
from .instruction import Instruction
from .module import Computation, HloModule
from .slices import RENDEZVOUS

_FRAMES_ONLY = frozenset(("get-tuple-element", "bitcast", "opt-barrier", "tuple"))
_RUNS_OTHERS = frozenset(("while", "conditional", "call"))
_PAIRS = ("-start", "-done", "-update")
_MAX_VISITED = 4096
# Products that are named for each collective: a program of many in flight at once stays readable.
NAMED = 100


@dataclass(frozen=True, slots=True)
class InFlight:
    """One collective in its schedule.

    `start` and `done` are positions in `computation`, the same for one that waits; `first_use` and `last_use` those of
    the first and the last instruction that read its result, None where none does. A result that leaves the computation
    is used at its end. `meanwhile`: the instructions of some work between start and done, in order; `products`: those
    of them that multiply matrices (the first hundred by name), with `flops` operations in one execution; of a windowed
    product, in all rounds of its loop.
    """

    computation: str
    start: int
    done: int
    first_use: int | None
    last_use: int | None
    meanwhile: int
    products: tuple[str, ...]
    flops: int

    def as_json(self) -> dict[str, Any]:
        return {
            "computation": self.computation,
            "start": self.start,
            "done": self.done,
            "first_use": self.first_use,
            "last_use": self.last_use,
            "meanwhile": {
                "instructions": self.meanwhile,
                "flops": self.flops,
                "products": list(self.products),
            },
        }


class Schedule:
    """Answers for the collectives of one scheduled module; a computation is looked through once."""

    def __init__(self, module: HloModule) -> None:
        self._flow = Flow(module)
        self._each = Each(module)
        self._module = module
        self._ends: dict[Mark, list[Instruction]] | None = None
        self._received: dict[str, list[Instruction]] = {}
        self._work: dict[str, _Work] = {}

    def of(self, collective: Instruction) -> InFlight | None:
        """None in a program without a schedule."""
        if not self._module.is_scheduled:
            return None
        if collective.opcode == "while":
            start = done = collective
            beside, flops = self._work_of(collective.called[0]), self._each.matrix_flops(collective)
            between, multiplied = slice(len(beside.places)), slice(len(beside.products))
        else:
            start, done = self.ends(collective)
            beside = self._work_of(start.computation)
            between = slice(bisect_right(beside.places, start.index), bisect_left(beside.places, done.index))
            multiplied = slice(bisect_right(beside.products, start.index), bisect_left(beside.products, done.index))
            flops = sum(beside.flops[multiplied])
        uses = sorted(_uses(done))
        return InFlight(
            start.computation.name,
            start.index,
            done.index,
            uses[0] if uses else None,
            uses[-1] if uses else None,
            len(beside.places[between]),
            tuple(beside.computation.instruction_at(at).name for at in beside.products[multiplied][:NAMED]),
            flops,
        )

    def ends(self, collective: Instruction) -> tuple[Instruction, Instruction]:
        """What starts a collective in the schedule, and what waits for its result; the same where it is waited for."""
        start = self._carrier(collective)
        return start, self._done(collective, start)

    def _work_of(self, computation: Computation) -> _Work:
        known = self._work.get(computation.name)
        if known is None:
            known = self._work[computation.name] = _Work.of(computation, self._each)
        return known

    def _carrier(self, collective: Instruction) -> Instruction:
        """What stands for the collective in the schedule: itself, or the fusion or wrapper around it."""
        carrier = collective
        for frame in reversed(self._flow.at(collective).around):
            if frame.opcode == "call":
                break
            carrier = frame
        return carrier

    def _done(self, collective: Instruction, start: Instruction) -> Instruction:
        """Where the result is there; the start itself for a collective that is waited for."""
        if start.opcode == "send":
            return next((user for recv in self._receivers(start) for user in recv.users if _is_done(user)), start)
        if start.opcode == "fusion":
            if self._ends is None:
                self._ends = ends(self._module)
            found = (self._flow.at(end).around for end in self._ends.get(mark(collective), ()))
            later = [a[-1] for a in found if a and a[-1].computation is start.computation and a[-1].index > start.index]
            return min(later, key=lambda end: end.index, default=start)
        pending, seen = [start], 0
        while pending and seen < _MAX_VISITED:
            for user in pending.pop().users:
                seen += 1
                if _is_done(user):
                    return user
                if user.opcode.endswith("-update"):
                    pending.append(user)
        return start

    def _receivers(self, send: Instruction) -> Iterator[Instruction]:
        """The `recv` that takes what is sent, by meeting or channel."""
        computation = send.computation
        known = self._received.get(computation.name)
        if known is None:
            opcodes = enumerate(computation.opcodes())
            known = self._received[computation.name] = [
                computation.instruction_at(position) for position, opcode in opcodes if opcode == "recv"
            ]
        meeting = send.frontend_attributes.get(RENDEZVOUS)
        for recv in known:
            if (meeting and recv.frontend_attributes.get(RENDEZVOUS) == meeting) or (
                not meeting and recv.channel_id == send.channel_id
            ):
                yield recv


def _is_done(user: Instruction) -> bool:
    return user.opcode.endswith("-done")


def _uses(result: Instruction) -> Iterator[int]:
    """The positions of the instructions that read a result, past what only hands it on."""
    pending, seen = [result], {id(result)}
    if result.is_root:
        yield result.index
    while pending and len(seen) < _MAX_VISITED:
        for user in pending.pop().users:
            if user.opcode not in _FRAMES_ONLY or user.is_root:
                yield user.index
            elif id(user) not in seen:
                seen.add(id(user))
                pending.append(user)


@dataclass(frozen=True, slots=True)
class _Work:
    """Where a computation works, and where it multiplies matrices with how many operations."""

    computation: Computation
    places: list[int]
    products: list[int]
    flops: list[int]

    @classmethod
    def of(cls, computation: Computation, each: Each) -> _Work:
        places, products, flops = [], [], []
        for position, opcode in enumerate(computation.opcodes()):
            if (opcode in PLUMBING and opcode not in _RUNS_OTHERS) or opcode.endswith(_PAIRS):
                continue
            places.append(position)
            if opcode in each.MAY_MULTIPLY:
                multiplied = each.matrix_flops(computation.instruction_at(position))
                if multiplied:
                    products.append(position)
                    flops.append(multiplied)
        return cls(computation, places, products, flops)
