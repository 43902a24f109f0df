"""An HloModuleProto as the module classes: the same attributes, operands and order as the text of that program."""

from __future__ import annotations

from ..contracts.errors import ContractLintError
from . import wire
from .instruction import Instruction
from .module import Computation, HloModule
from .proto import ComputationProto, InstructionProto, ModuleProto, parse_proto
from .proto_attributes import attributes_of, buffer_donor, input_output_alias, literal_text
from .shape import Shape


class ProtoInstruction(Instruction):
    """An instruction whose parts are decoded from its message when they are asked for."""

    __slots__ = ("proto",)

    def __init__(self, computation: ProtoComputation, proto: InstructionProto, index: int) -> None:
        super().__init__(computation, proto.name, proto.opcode, index)
        self.proto = proto

    @property
    def shape(self) -> Shape:
        if self._shape is None:
            self._shape = self._source_module.shape(self.proto)
        return self._shape

    @property
    def attributes(self) -> dict[str, str]:
        if self._attributes is None:
            self._attributes = attributes_of(self._source_module, self.proto)
        return self._attributes

    @property
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            path, line = self.proto.source
            known = {
                "op_name": self.proto.op_name,
                "stack_frame_id": str(self.proto.stack_frame_id or ""),
                "source_file": path,
                "source_line": str(line or ""),
            }
            self._metadata = {key: value for key, value in known.items() if value}
        return self._metadata

    @property
    def operand_text(self) -> str:
        if self.opcode in ("parameter", "constant"):
            return literal_text(self._source_module.data, self.proto)
        return super().operand_text

    @property
    def parameter_number(self) -> int | None:
        return self.proto.parameter_number if self.opcode == "parameter" else None

    @property
    def tuple_index(self) -> int | None:
        return self.proto.tuple_index if self.opcode == "get-tuple-element" else None

    @property
    def _source_module(self) -> ModuleProto:
        module = self.computation.module
        assert isinstance(module, ProtoModule)
        return module.proto

    def _resolve(self) -> tuple[Instruction, ...]:
        computation = self.computation
        assert isinstance(computation, ProtoComputation)
        found = []
        for identity in self.proto.operand_ids:
            operand = computation.by_id.get(identity)
            if operand is None:
                raise ContractLintError(f"instruction {self.name!r}: no operand with the id {identity}")
            found.append(self.reads(operand))
        return tuple(found)

    def _find_called(self) -> tuple[Computation, ...]:
        module = self.computation.module
        assert isinstance(module, ProtoModule)
        return tuple(module.by_id[i] for i in self.proto.called_ids if i in module.by_id)


class ProtoComputation(Computation):
    """A computation, filled when it is first looked at."""

    __slots__ = ("_by_id", "proto")

    def __init__(self, module: ProtoModule, proto: ComputationProto) -> None:
        super().__init__(module, proto.name)
        self.proto = proto
        self._by_id: dict[int, ProtoInstruction] = {}

    @property
    def by_id(self) -> dict[int, ProtoInstruction]:
        _ = self.instructions
        return self._by_id

    def __len__(self) -> int:
        return len(self.proto.instructions)

    def opcodes(self) -> list[str]:
        return [made.opcode for made in self._ordered()]

    def _ordered(self) -> list[InstructionProto]:
        assert isinstance(self.module, ProtoModule)
        return self.module.proto.ordered(self.proto)

    def _read(self) -> None:
        ordered = self._ordered()
        made = [ProtoInstruction(self, proto, index) for index, proto in enumerate(ordered)]
        self._by_id = {instruction.proto.id: instruction for instruction in made}
        # References inside one computation may leave out the computation's id in the upper half.
        for instruction in made:
            self._by_id.setdefault(instruction.proto.id & 0xFFFFFFFF, instruction)
        self.fill(made, self._by_id.get(self.proto.root_id))


class ProtoModule(HloModule):
    """A module over a decoded HloModuleProto."""

    __slots__ = ("by_id", "proto")

    def __init__(self, proto: ModuleProto) -> None:
        super().__init__(proto.name, attributes=_module_attributes(proto), frames=proto.frame_table)
        self.proto = proto
        made = [ProtoComputation(self, computation) for computation in proto.computations]
        self.by_id = {computation.proto.id: computation for computation in made}
        entry = proto.entry
        self.fill(made, self.by_id.get(entry.id) if entry is not None else None)


def module_from_proto(source: bytes | ModuleProto) -> HloModule:
    """The module of an HloProto or HloModuleProto. Raises ContractLintError with the byte at fault."""
    return ProtoModule(parse_proto(source).module if isinstance(source, bytes) else source)


def _module_attributes(proto: ModuleProto) -> dict[str, str]:
    """What the text's first line says, as far as the proto holds it: the device assignment gives the counts."""
    found: dict[str, str] = {"is_scheduled": "true"} if proto.schedule else {}
    for entry in wire.fields(proto.data, *proto.extent):
        if entry[0] == 8 and (aliases := input_output_alias(proto.data, *wire.span(entry))):
            found["input_output_alias"] = aliases
        elif entry[0] == 18 and (donors := buffer_donor(proto.data, *wire.span(entry))):
            found["buffer_donor"] = donors
        elif entry[0] == 15:
            counts = {f[0]: f[2] for f in wire.fields(proto.data, *wire.span(entry)) if f[1] == wire.VARINT}
            for number, key in ((1, "replica_count"), (2, "num_partitions")):
                if counts.get(number, 1) > 1:
                    found[key] = str(counts[number])
    return found
