"""The memory ledger made: from a buffer assignment replayed, from the schedule, or from the compiler's own sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...contracts.errors import ContractLintError
from ...contracts.manifest import Leaf, StepFacts
from ..argument_uses import classify_by_name, classify_by_use
from ..arguments import entry_arguments, placements_of
from ..assignment import Allocation, BufferAssignment, LogicalBuffer
from ..attribution import Attribution
from ..buffer_class import BufferClass
from ..heap import Replay, Span, replay, schedule_positions
from ..module import HloModule
from ..proto import HloProto, InstructionProto, ModuleProto
from ..roles import TensorClass, classify, names_tell
from ..scope import scope_of
from ..shape import Shape
from ..uncollected import uncollected
from .actions import actions
from .buffer import Buffer
from .copies import copies_of
from .guests import Guests
from .last_use import LastUses
from .ledger import DEVICE_SPACE, SPACE_NAMES, MemoryLedger, Space
from .lives import Argument, Life, Lives

SMALL = 1000
"""A buffer of less than the peak over this is not looked at: no action on it would be worth it."""

_ARGUMENT_CLASS: dict[TensorClass, BufferClass] = {
    "parameter": "parameter",
    "optimizer_slot": "optimizer_slot",
    "other": "argument",
}


@uncollected
def memory(proto: HloProto | None, module: HloModule | None = None, facts: StepFacts | None = None) -> MemoryLedger:
    """The ledger of a compiled step.

    From its buffer assignment; without one from XLA's own sums, or from the schedule of `module`. Raises
    ContractLintError for an assignment that contradicts itself, and where there is none of these.
    """
    if proto is not None and proto.assignment is not None and proto.assignment.allocations:
        return _Builder(proto.module, proto.assignment, facts, module).ledger()
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
        state_bytes=_state_bytes(facts.arguments, classify(facts)),
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
    from ..as_proto import TextModule
    from ..backend import backend_of
    from ..liveness import assigned

    text = TextModule(module)
    made = _Builder(text, assigned(module, text.ids, backend_of(module)), facts, module).ledger()
    made.method = "liveness"
    return made


class _Builder:
    """Puts one ledger together."""

    def __init__(
        self, module: ModuleProto, assignment: BufferAssignment, facts: StepFacts | None, read: HloModule | None
    ) -> None:
        self.module = module
        self.read = read
        self.assignment = assignment
        self.facts = facts
        leaves, kinds = _arguments_of(module, assignment, facts, read)
        self.state_bytes = _state_bytes(leaves, kinds)
        self.positions = schedule_positions(module)
        self.end = max(len(self.positions) - 1, 0)
        self.leaves: dict[int, tuple[Leaf, TensorClass]] = {
            leaf.parameter: (leaf, kind) for leaf, kind in zip(leaves, kinds, strict=True) if leaf.parameter is not None
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
        self.uses = LastUses(module, assignment, self.positions, self.attribution)
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
        own = [a for a in self.standing + self.whole if a.color == DEVICE_SPACE and a.size]
        standing = [(allocation, buffer) for allocation in own for buffer in self._standing_buffers(allocation)]
        buffers = sorted(
            [*(buffer for _, buffer in standing), *(self._heap_buffer(span) for done in heap for span in done.live)],
            key=lambda buffer: (-buffer.bytes, buffer.name),
        )
        arguments = sum(a.size for a in device if a.is_entry_parameter)
        peak = max(heap, key=lambda done: done.peak_bytes, default=None)
        lives = self._lives(standing, heap)
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
            actions=actions(lives),
        )

    def _lives(self, standing: list[tuple[Allocation, Buffer]], heap: list[Replay]) -> Lives:
        """Every buffer in the device's memory with its place in time; small ones without what they are."""
        least = (sum(buffer.bytes for _, buffer in standing) + sum(done.peak_bytes for done in heap)) // SMALL
        lives = Lives([], [done.indices for done in heap], list(self._arguments()), self.attribution.backward)
        guests = Guests(self.assignment, self.uses)
        for allocation, buffer in standing:
            is_result = allocation.maybe_live_out and not allocation.is_entry_parameter
            held = guests.of(allocation, lives) if is_result and buffer.bytes >= least else ()
            lives.all.append(Life(buffer.bytes, buffer=buffer, guests=held))
        for trace, done in enumerate(heap):
            lives.all += [self._life(span, trace, least) for span in done.spans]
        return lives

    def _life(self, span: Span, trace: int, least: int) -> Life:
        logical = self.assignment.buffers[span.buffer_id]
        if logical.size < least:
            return Life(logical.size, span.events, trace)
        instruction = self.module.instruction_by_id.get(logical.instruction_id)
        origin = self.attribution.origin(logical.instruction_id, logical.shape_index)
        return Life(
            logical.size,
            span.events,
            trace,
            self._heap_buffer(span),
            self.attribution.filling(instruction, logical.shape_index) if instruction is not None else None,
            origin is not None and self.attribution.follows_weights(origin, logical.shape_index),
        )

    def _arguments(self) -> Iterator[Argument]:
        """The arguments that the program has, each with the number of devices that hold the same elements."""
        for number, (leaf, kind) in self.leaves.items():
            instruction = self.parameters.get(number)
            yield Argument(leaf, kind, copies_of(leaf, instruction.name if instruction else "", self.read))

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

    def _heap_buffer(self, span: Span) -> Buffer:
        logical = self.assignment.buffers[span.buffer_id]
        last = self._last(span, logical)
        origin = self.attribution.origin(logical.instruction_id, logical.shape_index)
        instruction = self.module.instruction_by_id.get(logical.instruction_id)
        otherwise = logical.instruction_name or f"buffer {logical.id}"
        return Buffer(
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

    def _last(self, span: Span, logical: LogicalBuffer) -> int:
        """The schedule index until which it lives: where the trace frees it, or is used last if that is later.

        Between two events the trace tells no time: what is freed before the next seems freed at once.
        """
        if span.last is None:
            return self.end
        end = self.uses.end(logical)
        return self.end if end is None else max(span.last, end)

    def _standing_buffers(self, allocation: Allocation) -> Iterator[Buffer]:
        """An allocation that lives for the whole step: an argument, an output, a constant or an unexplained heap."""
        if allocation.is_entry_parameter:
            yield self._argument(allocation)
        elif allocation.is_temp:
            yield from self._unexplained(allocation)
        else:
            largest = max(allocation.assigned, key=lambda item: (item[2], item[0]), default=None)
            kind: BufferClass = "constant" if allocation.is_constant else "output"
            yield self._standing(allocation, largest[0] if largest else None, allocation.size, kind)

    def _unexplained(self, allocation: Allocation) -> Iterator[Buffer]:
        """The values of a heap without a trace by their places, the largest of each; gaps are padding of the largest.

        When they live nobody knows, so that all places count as taken.
        """
        taken: list[tuple[int, int, int]] = []
        for identity, offset, size in sorted(allocation.assigned, key=lambda item: (-item[2], item[0])):
            if size and all(offset + size <= begin or end <= offset for _, begin, end in taken):
                taken.append((identity, offset, offset + size))
        gaps = allocation.size - sum(end - begin for _, begin, end in taken)
        for identity, begin, end in taken:
            yield self._standing(allocation, identity, end - begin + gaps)
            gaps = 0
        if gaps:
            yield self._standing(allocation, None, gaps)

    def _standing(
        self, allocation: Allocation, identity: int | None, size: int, kind: BufferClass | None = None
    ) -> Buffer:
        """One value that is there for the whole step; its class is inferred where `kind` does not say it."""
        logical = self.assignment.buffers.get(identity) if identity is not None else None
        index = logical.shape_index if logical else ()
        origin = self.attribution.origin(logical.instruction_id, index) if logical else None
        instruction = self.module.instruction_by_id.get(logical.instruction_id) if logical else None
        shape = origin.shape if origin else None
        return Buffer(
            name=_value_name(instruction, index, f"allocation {allocation.index}"),
            bytes=size,
            unpadded_bytes=_unpadded(shape, min(size, logical.size) if logical else size),
            shape=_shape_text(shape) if shape else "",
            class_=kind or self.attribution.classify(origin, index, 0, self.end),
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


def _arguments_of(
    module: ModuleProto, assignment: BufferAssignment, facts: StepFacts | None, read: HloModule | None
) -> tuple[list[Leaf], list[TensorClass]]:
    """The arguments and what each of them is: as the capture says, by their names, or by what is done with them."""
    # A step that never compiled has arguments, but nobody knows which of them the program kept.
    if facts is not None and any(leaf.parameter is not None for leaf in facts.arguments):
        return facts.arguments, classify(facts)
    leaves = entry_arguments(module, assignment, placements_of(read) if read is not None else None)
    if names_tell(leaves):
        return leaves, classify_by_name(module, leaves)
    return leaves, classify_by_use(module, leaves)


def _state_bytes(leaves: Sequence[Leaf], kinds: Sequence[TensorClass]) -> int:
    """Arguments that stay on the device between steps: parameters, optimizer slots, counters, random keys."""
    kept = ("parameter", "optimizer_slot", "counter", "rng")
    return sum(leaf.bytes or 0 for leaf, kind in zip(leaves, kinds, strict=True) if kind in kept)


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
