"""The memory ledger: what a step needs on one device, its peak, and which buffers make the peak."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..contracts.errors import ContractLintError
from ..contracts.manifest import Leaf, StepFacts
from .arguments import entry_arguments
from .assignment import Allocation, BufferAssignment
from .attribution import Attribution, BufferClass
from .heap import Replay, replay, schedule_positions
from .module import HloModule
from .proto import HloProto, InstructionProto, ModuleProto
from .roles import TensorClass, classify
from .scope import scope_of
from .shape import Shape

SCHEMA_VERSION = 1
DEVICE_SPACE = 0
SPACE_NAMES = {0: "device", 1: "vmem", 2: "sync", 4: "smem", 5: "host"}

Method = Literal["heap-trace", "buffer-assignment", "liveness", "compiled-stats"]

_ARGUMENT_CLASS: dict[TensorClass, BufferClass] = {"parameter": "parameter", "optimizer_slot": "optimizer_slot"}


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer live at the peak; `first` and `last` are schedule indices. The `scope` of an argument is its path."""

    name: str
    bytes: int
    unpadded_bytes: int
    shape: str
    class_: BufferClass
    scope: str
    source: str | None
    first: int
    last: int

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bytes": self.bytes,
            "unpadded_bytes": self.unpadded_bytes,
            "shape": self.shape,
            "class": self.class_,
            "scope": self.scope,
            "source": self.source,
            "first": self.first,
            "last": self.last,
        }


@dataclass(frozen=True, slots=True)
class Space:
    """One memory space: 0 is the device's main memory, the others (VMEM, host, ...) never add to it."""

    number: int
    name: str
    argument_bytes: int
    temp_bytes: int
    peak_bytes: int


@dataclass(slots=True)
class MemoryLedger:
    """Bytes on one device, in its main memory.

    `peak_bytes` is what lives for the whole step (arguments, un-aliased outputs, constants) plus the peak of the heap;
    fragmentation is not in it. `need_bytes` is what must fit: arguments + un-aliased outputs + packed temporaries +
    code. `state_bytes` are the arguments that stay from step to step. `method` says where the peak comes from:
    `heap-trace` is exact, `liveness` follows XLA's rules on the printed schedule (`hlo_tools/liveness`), the other two
    count all temporaries as live at once.
    """

    module: str
    method: Method
    peak_bytes: int
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    code_bytes: int
    state_bytes: int | None = None
    peak_index: int | None = None
    peak_instruction: str | None = None
    buffers: list[Buffer] = field(default_factory=list)
    timeline: list[tuple[int, int]] = field(default_factory=list)
    spaces: list[Space] = field(default_factory=list)

    @property
    def standing_bytes(self) -> int:
        """What lives for the whole step: arguments, and outputs that alias none of them."""
        return self.argument_bytes + self.output_bytes - self.alias_bytes

    @property
    def need_bytes(self) -> int:
        return self.standing_bytes + self.temp_bytes + self.code_bytes

    @property
    def by_class(self) -> dict[str, int]:
        """Bytes at the peak by class, largest first, without tile padding, which is a class of its own."""
        sums: dict[str, int] = {}
        for buffer in self.buffers:
            padding = buffer.bytes - buffer.unpadded_bytes
            sums[buffer.class_] = sums.get(buffer.class_, 0) + buffer.unpadded_bytes
            if padding:
                sums["padding"] = sums.get("padding", 0) + padding
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))

    @property
    def by_scope(self) -> list[tuple[str, int]]:
        return _summed((buffer.scope, buffer.bytes) for buffer in self.buffers)

    @property
    def by_source(self) -> list[tuple[str, int]]:
        """Bytes at the peak by Python line; `` for buffers without one."""
        return _summed((buffer.source or "", buffer.bytes) for buffer in self.buffers)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "method": self.method,
            "peak_bytes": self.peak_bytes,
            "argument_bytes": self.argument_bytes,
            "output_bytes": self.output_bytes,
            "alias_bytes": self.alias_bytes,
            "temp_bytes": self.temp_bytes,
            "code_bytes": self.code_bytes,
            "need_bytes": self.need_bytes,
            "state_bytes": self.state_bytes,
            "peak_index": self.peak_index,
            "peak_instruction": self.peak_instruction,
            "by_class": self.by_class,
            "by_scope": [{"scope": scope, "bytes": size} for scope, size in self.by_scope],
            "by_source": [{"source": source or None, "bytes": size} for source, size in self.by_source],
            "buffers": [buffer.as_json() for buffer in self.buffers],
            "timeline": [list(point) for point in self.timeline],
            "spaces": [
                {
                    "space": space.number,
                    "name": space.name,
                    "argument_bytes": space.argument_bytes,
                    "temp_bytes": space.temp_bytes,
                    "peak_bytes": space.peak_bytes,
                }
                for space in self.spaces
            ],
        }


def memory(proto: HloProto | None, module: HloModule | None = None, facts: StepFacts | None = None) -> MemoryLedger:
    """The ledger of a compiled step.

    From its buffer assignment; without one from XLA's own sums, or from the schedule of `module`. Raises
    ContractLintError for an assignment that contradicts itself, and where there is none of these.
    """
    if proto is not None and proto.assignment is not None and proto.assignment.allocations:
        return _Builder(proto.module, proto.assignment, facts).ledger()
    if (facts is None or facts.memory is None) and module is not None:
        return _from_schedule(module, facts)
    name = proto.module.name if proto is not None else module.name if module is not None else ""
    if facts is None or facts.memory is None:
        raise ContractLintError(
            "no buffer assignment in the program and no memory figures beside it",
            help="dump the program with --xla_dump_hlo_as_proto and give its *after_optimizations.hlo.pb",
        )
    stats = facts.memory
    made = MemoryLedger(
        module=name or facts.step,
        method="compiled-stats",
        peak_bytes=0,
        argument_bytes=stats.argument_bytes,
        output_bytes=stats.output_bytes,
        alias_bytes=stats.alias_bytes,
        temp_bytes=stats.temp_bytes,
        code_bytes=max(stats.code_bytes, 0),
        state_bytes=_state_bytes(facts),
    )
    made.peak_bytes = made.need_bytes - made.code_bytes
    return made


def _from_schedule(module: HloModule, facts: StepFacts | None) -> MemoryLedger:
    """The ledger of a program by the lives of its values. Raises ContractLintError for one that is not scheduled."""
    if not module.is_scheduled:
        raise ContractLintError(
            "the program is not scheduled, so nothing says when a buffer lives, and it holds no buffer assignment",
            help="give the program after optimisation: compiled.as_text(), or *after_optimizations.txt of a dump",
        )
    from .as_proto import TextModule
    from .backend import backend_of
    from .liveness import assigned

    text = TextModule(module)
    made = _Builder(text, assigned(module, text.ids, backend_of(module) != "cpu"), facts).ledger()
    made.method = "liveness"
    return made


class _Builder:
    """Puts one ledger together."""

    def __init__(self, module: ModuleProto, assignment: BufferAssignment, facts: StepFacts | None) -> None:
        self.module = module
        self.assignment = assignment
        self.facts = facts
        known = facts
        # A step that never compiled has arguments, but nobody knows which of them the program kept.
        if known is None or all(leaf.parameter is None for leaf in known.arguments):
            known = StepFacts(step="", entry="", arguments=entry_arguments(module, assignment))
        self.state_bytes = _state_bytes(known)
        self.positions = schedule_positions(module)
        self.end = max(len(self.positions) - 1, 0)
        self.leaves: dict[int, tuple[Leaf, TensorClass]] = {
            leaf.parameter: (leaf, kind)
            for leaf, kind in zip(known.arguments, classify(known), strict=True)
            if leaf.parameter is not None
        }
        entry = module.entry
        parameters = [made for made in entry.instructions if made.opcode == "parameter"] if entry else []
        self.parameters = {made.parameter_number: made for made in parameters}
        self.attribution = Attribution(
            module,
            self.positions,
            self._parameter_shapes(),
            {number for number, (_, kind) in self.leaves.items() if kind == "parameter"},
        )
        standing = [a for a in assignment.allocations if not a.is_temp]
        in_standing = {buffer for allocation in standing for buffer, _, _ in allocation.assigned}
        self.replays = replay(assignment, self.positions, exclude=in_standing)
        traced = {event.buffer_id for trace in assignment.traces for event in trace.events} - in_standing
        # A temporary allocation that no trace explains is taken as live all the time.
        self.whole = [a for a in assignment.allocations if a.is_temp and not _is_traced(a, traced)]
        self.standing = [a for a in standing if not a.is_thread_local]

    def ledger(self) -> MemoryLedger:
        device = [a for a in self.assignment.allocations if a.color == DEVICE_SPACE]
        base, heap = self._base(DEVICE_SPACE), self.replays.get(DEVICE_SPACE, [])
        buffers = [self._standing_buffer(a) for a in self.standing + self.whole if a.color == DEVICE_SPACE and a.size]
        for done in heap:
            buffers += self._live(done)
        buffers.sort(key=lambda buffer: (-buffer.bytes, buffer.name))
        arguments = sum(a.size for a in device if a.is_entry_parameter)
        peak = max(heap, key=lambda done: done.peak_bytes, default=None)
        return MemoryLedger(
            module=self.module.name,
            method="buffer-assignment" if self.whole and not heap else "heap-trace",
            peak_bytes=base + sum(done.peak_bytes for done in heap),
            argument_bytes=arguments,
            output_bytes=sum(a.size for a in device if a.maybe_live_out),
            alias_bytes=sum(a.size for a in device if a.is_entry_parameter and a.aliased_with_output),
            temp_bytes=sum(a.size for a in device if a.is_temp),
            code_bytes=max(self.facts.memory.code_bytes, 0) if self.facts and self.facts.memory else 0,
            state_bytes=self.state_bytes,
            peak_index=peak.peak_index if peak else None,
            peak_instruction=peak.peak_instruction if peak else None,
            buffers=buffers,
            timeline=[(index, base + live) for index, live in peak.timeline] if peak else [(0, base)],
            spaces=self._spaces(),
        )

    def _base(self, color: int) -> int:
        return sum(a.size for a in self.standing + self.whole if a.color == color)

    def _spaces(self) -> list[Space]:
        colors = sorted({a.color for a in self.assignment.allocations if not a.is_thread_local} | set(self.replays))
        made = []
        for color in colors:
            own = [a for a in self.assignment.allocations if a.color == color]
            made.append(
                Space(
                    number=color,
                    name=SPACE_NAMES.get(color, f"space {color}"),
                    argument_bytes=sum(a.size for a in own if a.is_entry_parameter),
                    temp_bytes=sum(a.size for a in own if a.is_temp),
                    peak_bytes=self._base(color) + sum(done.peak_bytes for done in self.replays.get(color, [])),
                )
            )
        return made

    def _parameter_shapes(self) -> list[tuple[int, ...]]:
        shapes: list[tuple[int, ...]] = []
        for leaf, kind in self.leaves.values():
            if kind == "parameter":
                shapes.append(tuple(leaf.shape))
                if leaf.local_shape is not None:
                    shapes.append(tuple(leaf.local_shape))
        return shapes

    def _live(self, done: Replay) -> list[Buffer]:
        made = []
        for span in done.live:
            logical = self.assignment.buffers[span.buffer_id]
            last = self.end if span.last is None else span.last
            origin = self.attribution.origin(logical.instruction_id, logical.shape_index)
            instruction = self.module.instruction_by_id.get(logical.instruction_id)
            otherwise = logical.instruction_name or f"buffer {logical.id}"
            made.append(
                Buffer(
                    name=_value_name(instruction, logical.shape_index, otherwise),
                    bytes=logical.size,
                    unpadded_bytes=_unpadded(origin.shape if origin else None, logical.size),
                    shape=_shape_text(origin.shape) if origin else "",
                    class_=self.attribution.classify(origin, logical.shape_index, span.first, last),
                    scope=scope_of(origin.op_name) if origin else "",
                    source=origin.source if origin else None,
                    first=span.first,
                    last=last,
                )
            )
        return made

    def _standing_buffer(self, allocation: Allocation) -> Buffer:
        """An allocation that lives for the whole step: an argument, an output, a constant or an unexplained heap."""
        if allocation.is_entry_parameter:
            return self._argument(allocation)
        largest = max(allocation.assigned, key=lambda item: (item[2], item[0]), default=None)
        logical = self.assignment.buffers.get(largest[0]) if largest else None
        index = logical.shape_index if logical else ()
        origin = self.attribution.origin(logical.instruction_id, index) if logical else None
        instruction = self.module.instruction_by_id.get(logical.instruction_id) if logical else None
        kind: BufferClass = "unknown"
        if allocation.is_constant or allocation.maybe_live_out:
            kind = "constant" if allocation.is_constant else "output"
        shape = origin.shape if origin and kind != "unknown" else None
        return Buffer(
            name=_value_name(instruction, index, f"allocation {allocation.index}"),
            bytes=allocation.size,
            unpadded_bytes=_unpadded(shape, allocation.size),
            shape=_shape_text(shape) if shape else "",
            class_=kind,
            scope=scope_of(origin.op_name) if origin else "",
            source=origin.source if origin else None,
            first=0,
            last=self.end,
        )

    def _argument(self, allocation: Allocation) -> Buffer:
        instruction = self.parameters.get(allocation.parameter_number)
        shape = self.module.shape(instruction) if instruction else Shape("invalid")
        try:
            shape = shape.at(allocation.parameter_shape_index)
        except IndexError:
            shape = Shape("invalid")
        known = self.leaves.get(allocation.parameter_number)
        path = instruction.op_name if instruction else ""
        kind: BufferClass = "unknown"
        if known is not None:
            leaf, role = known
            path = "/".join(part for part in (leaf.argument, leaf.path) if part)
            kind = _ARGUMENT_CLASS.get(role, "input")
        return Buffer(
            name=_value_name(instruction, allocation.parameter_shape_index, f"argument {allocation.parameter_number}"),
            bytes=allocation.size,
            unpadded_bytes=_unpadded(shape, allocation.size),
            shape=_shape_text(shape),
            class_=kind,
            scope=path,
            source=None,
            first=0,
            last=self.end,
        )


def _is_traced(allocation: Allocation, traced: set[int]) -> bool:
    return any(buffer in traced for buffer, _, _ in allocation.assigned) or not allocation.assigned


def _state_bytes(facts: StepFacts) -> int:
    """Arguments that stay on the device between steps: parameters, optimizer slots, counters, random keys."""
    kept = ("parameter", "optimizer_slot", "counter", "rng")
    return sum(leaf.bytes or 0 for leaf, kind in zip(facts.arguments, classify(facts), strict=True) if kind in kept)


def _value_name(instruction: InstructionProto | None, index: tuple[int, ...], otherwise: str) -> str:
    if instruction is None:
        return otherwise
    return instruction.name + (f"{{{','.join(map(str, index))}}}" if index else "")


def _unpadded(shape: Shape | None, size: int) -> int:
    """Bytes of the elements themselves; the whole size where the shape does not tell (tuples, tokens, opaque)."""
    if shape is None or shape.is_tuple or shape.dtype in ("token", "opaque", "invalid"):
        return size
    return min(shape.bytes, size)


def _shape_text(shape: Shape) -> str:
    return "" if shape.dtype == "invalid" else shape.text


def _summed(rows: Any) -> list[tuple[str, int]]:
    sums: dict[str, int] = {}
    for key, size in rows:
        sums[key] = sums.get(key, 0) + size
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))
