"""The collective ledger: every collective a program runs, with its devices, executions, elements and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ..contracts.manifest import Frame, MeshFact
from .asked_by import AskedBy, frames_beside, scope_beside
from .async_fusions import mark, without_copies
from .flow import WRAPPERS
from .frames import user_frame
from .fused_sums import FusedSums
from .in_flight import InFlight, Schedule
from .instruction import Instruction
from .located import at
from .loops import executions
from .mesh_axes import Axes, axes_of, axes_of_pairs
from .module import HloModule
from .participants import PAIRED, Participants, device_count, named_mesh, participants
from .replica_groups import Groups
from .slices import crosses_slices, slices_of, transfer_groups, transfer_kind
from .transfers import KINDS, Part, Transfer, is_asynchronous, nearest, transfer
from .uncollected import uncollected

LEDGER_SCHEMA = 1
_TOTALLED = ("count", "elements", "operand_bytes", "result_bytes", "ring_bytes")


@dataclass(slots=True)
class Collective:
    """One collective instruction.

    `count` = executions per step; `elements` and all bytes are per device per step, already times `count`.
    `elements` counts the array that is whole over the group: the result of an all-gather, the operand of the others.
    A combined collective is one row; `parts` gives elements and bytes of each array in it, for one execution.
    `frames` and `source` say where it was asked for (`asked_by`), `scope` what the program calls it.
    `groups` holds partition numbers (replica * partitions + partition); for a permute, (source, target) pairs.
    `between_slices`: a group has members in several TPU slices, so data crosses the data-centre network.
    `promoted`: a backend that cannot add in a narrow type made it wide (XLA's `all-reduce-promotion`; CPU and CUDA).
    Under a conditional `count` is the most executions that a step can have and `count_min` the fewest. `dearest` are
    those that sums take: where every conditional takes the branch that sends most (a row of another branch has 0).
    """

    name: str
    kind: str
    axes: Axes
    groups: Groups
    group_size: int
    static_count: int
    count: int
    count_min: int
    elements: int
    dtype: str
    operand_bytes: int
    result_bytes: int
    ring_bytes: int
    async_: bool = False
    channel_id: int | None = None
    loop_depth: int = 0
    source: str | None = None
    scope: str = ""
    computation: str = ""
    order: int = 0
    frames: list[Frame] = field(default_factory=list)
    parts: tuple[Part, ...] = ()
    unknown_loops: tuple[str, ...] = ()
    between_slices: bool = False
    promoted: bool = False
    dearest: int | None = None
    """None where it is `count`."""
    ring_exact: Fraction | None = field(default=None, repr=False, compare=False)
    """`ring_bytes` before rounding to a whole byte; sums use it, so that small rows do not add up to an error."""
    own_groups: Groups = field(default=(), repr=False, compare=False)
    """`groups` in the numbers of the program: those of one slice, where it is the program of one slice."""
    instruction: Instruction | None = field(default=None, repr=False, compare=False)
    loop: Instruction | None = field(default=None, repr=False, compare=False)
    """Of a windowed product: the loop that stands for it in the schedule."""
    packed: tuple[Instruction, tuple[Instruction, ...]] | None = field(default=None, repr=False, compare=False)
    """Of one array of several in a buffer: the array, and the fusions around it, innermost last."""

    def on_dearest_path(self) -> Collective | None:
        """The row with the executions that a sum over rows takes; None where it takes none of them."""
        if self.dearest is None or self.dearest == self.count:
            return self if self.count else None
        if not self.dearest:
            return None
        taken = Fraction(self.dearest, self.count)
        ring = (Fraction(self.ring_bytes) if self.ring_exact is None else self.ring_exact) * taken
        return replace(
            self,
            count=self.dearest,
            elements=nearest(self.elements * taken),
            operand_bytes=nearest(self.operand_bytes * taken),
            result_bytes=nearest(self.result_bytes * taken),
            ring_bytes=nearest(ring),
            ring_exact=ring,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "axes": list(self.axes) if isinstance(self.axes, tuple) else self.axes,
            "groups": [list(group) for group in self.groups],
            "group_size": self.group_size,
            "static_count": self.static_count,
            "count": self.count,
            "count_min": self.count_min,
            "count_dearest": self.count if self.dearest is None else self.dearest,
            "elements": self.elements,
            "dtype": self.dtype,
            "operand_bytes": self.operand_bytes,
            "result_bytes": self.result_bytes,
            "ring_bytes": self.ring_bytes,
            "async": self.async_,
            "channel_id": self.channel_id,
            "loop_depth": self.loop_depth,
            "source": self.source,
            "scope": self.scope,
            "computation": self.computation,
            "order": self.order,
            "unknown_loops": list(self.unknown_loops),
            "between_slices": self.between_slices,
            "promoted": self.promoted,
        }


@dataclass(slots=True)
class Total:
    """Sums over the rows of one kind on the same axes."""

    kind: str
    axes: Axes
    count: int = 0
    elements: int = 0
    operand_bytes: int = 0
    result_bytes: int = 0
    ring_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        axes = list(self.axes) if isinstance(self.axes, tuple) else self.axes
        return {"kind": self.kind, "axes": axes, **{key: getattr(self, key) for key in _TOTALLED}}


@dataclass(slots=True)
class CollectiveLedger:
    """All collectives of one module in program order. `unknown_loops` are counted as one round each.

    Every row has all executions that it may have. Two branches of a conditional never run both: what adds rows up takes
    those of `dearest_path`.
    """

    module: str
    devices: int
    mesh: MeshFact | None
    rows: list[Collective] = field(default_factory=list)
    unknown_loops: list[str] = field(default_factory=list)

    def dearest_path(self) -> list[Collective]:
        """The rows that run where every conditional takes the branch that sends most, each as often as it does then."""
        return [taken for row in self.rows if (taken := row.on_dearest_path()) is not None]

    def totals(self) -> list[Total]:
        """One line for each kind and axes, in the order they first appear; ring bytes summed, then rounded.

        Of the dearest path: a line of what only other branches run has 0.
        """
        found: dict[tuple[str, Axes], Total] = {}
        ring: dict[tuple[str, Axes], Fraction] = {}
        for row in self.rows:
            found.setdefault((row.kind, row.axes), Total(row.kind, row.axes))
        for row in self.dearest_path():
            key = (row.kind, row.axes)
            total = found[key]
            total.count += row.count
            total.elements += row.elements
            total.operand_bytes += row.operand_bytes
            total.result_bytes += row.result_bytes
            ring[key] = ring.get(key, Fraction(0)) + (row.ring_bytes if row.ring_exact is None else row.ring_exact)
        for key, total in found.items():
            total.ring_bytes = nearest(ring.get(key, Fraction(0)))
        return list(found.values())

    def schedule(self) -> list[InFlight | None]:
        """Of each row, when it runs, when its result is read and what runs meanwhile; None without a schedule."""
        schedules: dict[int, Schedule] = {}
        found = []
        for row in self.rows:
            stands = row.loop or row.instruction
            if stands is None:
                found.append(None)
                continue
            module = stands.module
            if id(module) not in schedules:
                schedules[id(module)] = Schedule(module)
            found.append(schedules[id(module)].of(stands))
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": LEDGER_SCHEMA,
            "module": self.module,
            "devices": self.devices,
            "mesh": self.mesh.model_dump() if self.mesh else None,
            "collectives": [
                {**row.as_json(), "schedule": placed.as_json() if placed is not None else None}
                for row, placed in zip(self.rows, self.schedule(), strict=True)
            ],
            "totals": [total.as_json() for total in self.totals()],
            "unknown_loops": self.unknown_loops,
        }


def collective_instructions(module: HloModule) -> list[Instruction]:
    """The instructions that are collectives, as printed, without building the others."""
    return [
        computation.instruction_at(position)
        for computation in module.computations
        if not KINDS.keys().isdisjoint(opcodes := computation.opcodes())
        for position, opcode in enumerate(opcodes)
        if opcode in KINDS
    ]


@uncollected
def collectives(module: HloModule, mesh: MeshFact | None = None, as_printed: bool = False) -> CollectiveLedger:
    """Every collective of the module, loops multiplied; an async pair or chain is one row.

    Kinds are as printed, but for a sum that its own fusion slices: that is TPU's reduce-scatter, unless `as_printed`.

    Without `mesh`, axes are those the program itself names (jax 0.12 prints the user's mesh); made-up names
    (`axis_0`) do not count, and `axes` is None then. Raises ContractLintError for what cannot be read.
    """
    found = collective_instructions(module)
    devices = device_count(module, found)
    found, started = without_copies(found, module)
    mesh = mesh or named_mesh(found, devices)
    slices = slices_of(mesh)
    of_one_slice = slices is not None and devices * len(slices.members) == len(slices.slice_of)
    sums = FusedSums(module)
    drafts: list[tuple[Instruction, Participants, Transfer, Groups]] = []
    cost: dict[str, int] = {}
    for instruction in found:
        with at(instruction):
            moved = transfer(instruction)
            if moved is None:
                continue
            who = participants(instruction, module, devices, moved.ratio)
            own = who.groups
            if instruction.opcode == "send" and crosses_slices(instruction):
                groups = transfer_groups(instruction, slices) or ()
                who = Participants(groups, max((len(group) for group in groups), default=2))
            elif slices is not None and of_one_slice:
                who = replace(who, groups=slices.everywhere(who.groups))
            if not as_printed:
                moved = sums.scattered(instruction, moved, own, who.size)
            moved = moved.over(who.size if who.moves else 1)
        drafts.append((instruction, who, moved, own))
        name = instruction.computation.name
        cost[name] = cost.get(name, 0) + nearest(moved.ring_bytes)
    runs = executions(module, cost)
    called_async = _async_computations(module) if drafts else {}
    asked_by = AskedBy()
    tells = module.tells_places
    rows = []
    for order, (instruction, who, moved, own) in enumerate(drafts):
        run = runs.of(instruction.computation)
        carrier = called_async.get(instruction.computation.name)
        frames = asked_by.of(instruction).frames or (carrier.frames if carrier else [])
        scope = instruction.op_name or (carrier.op_name if carrier else "")
        if tells:
            frames = frames or frames_beside(carrier or instruction)
            scope = scope or scope_beside(carrier or instruction)
        place = user_frame(frames)
        rows.append(
            Collective(
                name=instruction.name,
                kind=moved.kind,
                axes=_axes(instruction, who, mesh),
                groups=who.groups,
                group_size=who.size,
                static_count=1,
                count=run.count,
                count_min=run.count_min,
                elements=moved.elements * run.count,
                dtype=moved.dtype,
                operand_bytes=moved.operand_bytes * run.count,
                result_bytes=moved.result_bytes * run.count,
                ring_bytes=nearest(ring := moved.ring_bytes * run.count),
                async_=mark(instruction) in started or is_asynchronous(carrier or instruction),
                channel_id=instruction.channel_id,
                loop_depth=run.depth,
                source=f"{place.path}:{place.line}" if place else None,
                scope=scope,
                computation=instruction.computation.name,
                order=order,
                frames=frames,
                parts=moved.parts,
                unknown_loops=run.unknown,
                between_slices=slices is not None and slices.joined_by(who.groups),
                dearest=run.dearest,
                promoted="_promoted" in instruction.attributes.get("to_apply", ""),
                ring_exact=ring,
                own_groups=own,
                instruction=instruction,
            )
        )
    if slices is not None and of_one_slice:
        devices = len(slices.slice_of)
    return CollectiveLedger(module.name, devices, mesh, rows, runs.unknown_loops)


def _axes(instruction: Instruction, who: Participants, mesh: MeshFact | None) -> Axes:
    if mesh is None:
        return None
    paired = KINDS[instruction.opcode] in PAIRED
    if instruction.opcode == "send" and crosses_slices(instruction):
        if not who.groups:
            return None
        paired = transfer_kind(instruction) == "collective-permute"
    return axes_of_pairs(who.groups, mesh) if paired else axes_of(who.groups, mesh)


def _async_computations(module: HloModule) -> dict[str, Instruction]:
    """The computations that an `async-start` or its like wraps, with that instruction."""
    found = {}
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in WRAPPERS:
                instruction = computation.instruction_at(position)
                for callee in instruction.called:
                    found[callee.name] = instruction
    return found


__all__ = ["Collective", "CollectiveLedger", "Part", "Total", "collectives"]
