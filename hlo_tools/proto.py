"""HloProto as XLA dumps it: the module's instructions, its stack frames and, beside it, where every buffer lives.

Field numbers: xla/service/hlo.proto and xla/xla_data.proto. Instructions are decoded once for the fields that every
reader needs; shapes and everything else stay spans of the buffer and are decoded on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..contracts.manifest import Frame
from . import wire
from .assignment import BufferAssignment, parse_assignment
from .frames import FrameTable
from .shape import Layout, Shape

if TYPE_CHECKING:
    from .module import HloModule

# PrimitiveType of xla_data.proto in the order of its numbers, spelt as HLO text prints them.
_NAMES = """
invalid pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 tuple opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4
f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 s1 u1 f4e2m1fn f8e8m0fnu buffer f6e3m2fn f6e2m3fn
"""
PRIMITIVE_TYPES: dict[int, str] = dict(enumerate(_NAMES.split()))

_MAX_TUPLE_DEPTH = 64
_LOCATION_FIELDS = ((1, "file_name_id"), (2, "function_name_id"), (3, "line"), (4, "column"))


@dataclass(slots=True)
class InstructionProto:
    """One instruction. `extent` bounds its message in the buffer, for fields that are decoded on demand."""

    name: str
    opcode: str
    id: int
    extent: tuple[int, int]
    shape_extent: tuple[int, int] | None
    op_name: str
    source: tuple[str, int]
    stack_frame_id: int
    parameter_number: int
    tuple_index: int
    operand_ids: list[int]
    called_ids: list[int]


@dataclass(slots=True)
class ComputationProto:
    """One computation, instructions in the order of the proto (operands first)."""

    name: str
    id: int
    root_id: int
    instructions: list[InstructionProto]


@dataclass
class ModuleProto:
    """HloModuleProto: computations, entry, schedule and stack frames."""

    data: bytes
    extent: tuple[int, int] = (0, 0)
    name: str = ""
    entry_name: str = ""
    entry_id: int = 0
    computations: list[ComputationProto] = field(default_factory=list)
    schedule: dict[int, list[int]] = field(default_factory=dict)
    frame_table: FrameTable = field(default_factory=FrameTable)

    @cached_property
    def instruction_by_id(self) -> dict[int, InstructionProto]:
        return {made.id: made for computation in self.computations for made in computation.instructions}

    @cached_property
    def computation_by_id(self) -> dict[int, ComputationProto]:
        return {computation.id: computation for computation in self.computations}

    @property
    def entry(self) -> ComputationProto | None:
        return self.computation_by_id.get(self.entry_id) or next(
            (computation for computation in self.computations if computation.name == self.entry_name), None
        )

    def shape(self, instruction: InstructionProto) -> Shape:
        """The instruction's shape, decoded now."""
        if instruction.shape_extent is None:
            return Shape("invalid")
        return parse_shape(self.data, *instruction.shape_extent)

    def frames(self, instruction: InstructionProto) -> list[Frame]:
        """The instruction's Python frames, innermost first; empty where the compiler kept none."""
        if instruction.stack_frame_id:
            return self.frame_table.stack(instruction.stack_frame_id)
        path, line = instruction.source
        return [Frame(path=path, line=line if line < 1 << 31 else 0)] if path else []

    def call_target(self, instruction: InstructionProto) -> str:
        """What a custom call calls, decoded now; empty for any other instruction."""
        fields = wire.fields(self.data, *instruction.extent) if instruction.opcode == "custom-call" else ()
        return next((wire.text(self.data, entry) for entry in fields if entry[0] == 28), "")

    def ordered(self, computation: ComputationProto) -> list[InstructionProto]:
        """The computation's instructions in schedule order where the module is scheduled, else as they stand."""
        ids = self.schedule.get(computation.id)
        if not ids:
            return computation.instructions
        own = {instruction.id: instruction for instruction in computation.instructions}
        return [own[i] for i in ids if i in own]


@dataclass(slots=True)
class HloProto:
    """A module and, where the compiler got that far, its buffer assignment."""

    module: ModuleProto
    assignment: BufferAssignment | None = None


def parse_proto(data: bytes) -> HloProto:
    """An HloProto or a bare HloModuleProto. Raises ContractLintError with the byte at fault."""
    if not data:
        raise wire.WireError("the file is empty", 0)
    module, assignment = _parts(data)
    if module is None:
        return HloProto(parse_module(data, 0, len(data)))
    try:
        made = parse_module(data, *module)
    except wire.WireError as error:
        # A module that sets few fields looks like an HloProto, and its name is then no message.
        try:
            return HloProto(parse_module(data, 0, len(data)))
        except wire.WireError:
            raise error from None
    return HloProto(made, parse_assignment(data, *assignment) if assignment is not None else None)


def _parts(data: bytes) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Bounds of module and buffer assignment of an HloProto; no module where the bytes must be a module themselves."""
    module = assignment = None
    for entry in wire.fields(data):
        if entry[:2] == (1, wire.SPAN) and module is None:
            module = entry[2], entry[3]
        elif entry[:2] == (3, wire.SPAN) and assignment is None:
            assignment = entry[2], entry[3]
        else:
            return None, None
    return module, assignment


def parse_module(data: bytes, start: int, end: int) -> ModuleProto:
    """The HloModuleProto in `data[start:end]`. Raises WireError where it is none."""
    module = ModuleProto(data, (start, end))
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            module.name = wire.text(data, entry)
        elif number == 2:
            module.entry_name = wire.text(data, entry)
        elif number == 3:
            module.computations.append(_computation(data, *wire.span(entry)))
        elif number == 6:
            module.entry_id = wire.number(entry)
        elif number == 7:
            module.schedule = _schedule(data, *wire.span(entry))
        elif number == 17:
            module.frame_table = _frame_table(data, *wire.span(entry))
    if not any(computation.instructions for computation in module.computations):
        raise wire.WireError("no instruction in the module", start)
    return module


def parse_shape(data: bytes, start: int, end: int, depth: int = 0) -> Shape:
    """The ShapeProto in `data[start:end]`. Raises WireError on tuples nested deeper than 64."""
    if depth > _MAX_TUPLE_DEPTH:
        raise wire.WireError(f"a tuple shape is nested deeper than {_MAX_TUPLE_DEPTH}", start)
    dtype = "invalid"
    dims: list[int] = []
    dynamic: list[bool] = []
    parts: list[Shape] = []
    layout: Layout | None = None
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 2:
            code = wire.number(entry)
            dtype = PRIMITIVE_TYPES.get(code, f"type{code}")
        elif number == 3:
            dims += wire.integers(data, entry)
        elif number == 4:
            parts.append(parse_shape(data, *wire.span(entry), depth + 1))
        elif number == 5:
            layout = _layout(data, *wire.span(entry))
        elif number == 6:
            dynamic += [bool(flag) for flag in wire.integers(data, entry)]
    if len(dynamic) != len(dims) or not any(dynamic):
        dynamic = []
    # An unbounded dimension is the smallest int64 in the proto.
    return Shape(dtype, [max(size, -1) for size in dims], layout=layout, parts=parts, dynamic=dynamic)


def _layout(data: bytes, start: int, end: int) -> Layout:
    order: list[int] = []
    tiles: list[tuple[int, ...]] = []
    space = bits = 0
    extra: dict[str, str] = {}
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            order += wire.integers(data, entry)
        elif number == 6:
            tile: list[int] = []
            for part in wire.fields(data, *wire.span(entry)):
                if part[0] == 1:
                    tile += wire.integers(data, part)
            # xla::Tile::kCombineDimension, printed `*`, is the smallest int64.
            tiles.append(tuple(max(size, -1) for size in tile))
        elif number == 7:
            bits = wire.number(entry)
        elif number == 8:
            space = wire.number(entry)
        elif number == 16 and wire.number(entry) > 1:
            extra["L"] = f"({wire.number(entry)})"
    return Layout(tuple(order), tuple(tiles), space, bits, extra)


def _computation(data: bytes, start: int, end: int) -> ComputationProto:
    name, identity, root, instructions = "", 0, 0, []
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 2:
            instructions.append(_instruction(data, *wire.span(entry)))
        elif number == 1:
            name = wire.text(data, entry)
        elif number == 5:
            identity = wire.number(entry)
        elif number == 6:
            root = wire.number(entry)
    return ComputationProto(name, identity, root, instructions)


def _instruction(data: bytes, start: int, end: int) -> InstructionProto:
    made = InstructionProto("", "", 0, (start, end), None, "", ("", 0), 0, 0, 0, [], [])
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 3:
            made.shape_extent = wire.span(entry)
        elif number == 35:
            made.id = wire.number(entry)
        elif number == 36:
            made.operand_ids += wire.integers(data, entry)
        elif number == 1:
            made.name = wire.text(data, entry)
        elif number == 2:
            made.opcode = wire.text(data, entry)
        elif number == 7:
            _metadata(data, made, *wire.span(entry))
        elif number == 38:
            made.called_ids += wire.integers(data, entry)
        elif number == 9:
            made.parameter_number = wire.number(entry)
        elif number == 13:
            made.tuple_index = wire.number(entry)
    return made


def _metadata(data: bytes, made: InstructionProto, start: int, end: int) -> None:
    path, line = "", 0
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 2:
            made.op_name = wire.text(data, entry)
        elif number == 15:
            made.stack_frame_id = wire.number(entry)
        elif number == 3:
            path = wire.text(data, entry)
        elif number == 4:
            line = wire.number(entry)
    made.source = (path, line)


def _schedule(data: bytes, start: int, end: int) -> dict[int, list[int]]:
    orders: dict[int, list[int]] = {}
    for entry in wire.fields(data, start, end):
        if entry[0] != 1:
            continue
        key, ids = 0, []
        for part in wire.fields(data, *wire.span(entry)):
            if part[0] == 1:
                key = wire.number(part)
            elif part[0] == 2:
                for sequence in wire.fields(data, *wire.span(part)):
                    if sequence[0] == 1:
                        ids += wire.integers(data, sequence)
        orders[key] = ids
    return orders


def _frame_table(data: bytes, start: int, end: int) -> FrameTable:
    """StackFrameIndexProto: ids are 1-based, a parent of 0 is none."""
    files: list[str] = []
    functions: list[str] = []
    locations: list[dict[str, int]] = []
    stacks: list[tuple[int, int]] = []
    for entry in wire.fields(data, start, end):
        number = entry[0]
        if number == 1:
            files.append(wire.text(data, entry))
        elif number == 2:
            functions.append(wire.text(data, entry))
        elif number == 3:
            numbers = _numbers(data, *wire.span(entry))
            locations.append({key: numbers.get(n, 0) for n, key in _LOCATION_FIELDS})
        elif number == 4:
            numbers = _numbers(data, *wire.span(entry))
            stacks.append((numbers.get(1, 0), numbers.get(2, 0)))
    return FrameTable(files, functions, locations, stacks)


def _numbers(data: bytes, start: int, end: int) -> dict[int, int]:
    """The numeric fields of a flat message, by field number."""
    return {entry[0]: entry[2] for entry in wire.fields(data, start, end) if entry[1] == wire.VARINT}


def module_from_proto(data: bytes) -> HloModule:
    """The bytes of an HloProto or HloModuleProto as a module. Raises ContractLintError with the byte at fault."""
    from .proto_module import module_from_proto as build

    return build(data)
