"""An HLO module: computations in order, their instructions, and how to read one from text, protobuf or gzip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from .frames import FrameTable
from .gzipped import MAGIC, unpack
from .instruction import Instruction
from .pasted import is_text
from .shape import Shape, parse_shape
from .text.attributes import integer, read_attributes
from .text.index import IndexedComputation, index_text
from .uncollected import uncollected

__all__ = ["Computation", "HloModule", "Instruction", "Shape", "parse_hlo"]

# A compressed program may unpack to at most this many bytes: more is an attack or not a program.
MAX_BYTES = 4 << 30
# Groups name each device once; more devices than this is no machine that exists.
MAX_DEVICES = 1 << 24


class Computation:
    """A computation: instructions in program order (the schedule's order where the module is scheduled)."""

    __slots__ = (
        "_by_name",
        "_indexed",
        "_instructions",
        "_made",
        "_opcodes",
        "_positions",
        "_root",
        "_single",
        "_users",
        "module",
        "name",
    )

    def __init__(self, module: HloModule, name: str, indexed: IndexedComputation | None = None) -> None:
        """Without `indexed` it is empty: give it instructions with `fill`."""
        self.module = module
        self.name = name
        self._indexed = indexed
        self._instructions: tuple[Instruction, ...] | None = None
        self._by_name: dict[str, Instruction] = {}
        self._made: dict[str, Instruction] = {}
        self._single: dict[int, Instruction] = {}
        self._opcodes: list[str] | None = None if indexed is None else indexed.opcodes
        self._positions: dict[str, int] | None = None
        self._users: dict[int, list[Instruction]] | None = None
        self._root: Instruction | None = None

    def fill(self, instructions: Sequence[Instruction], root: Instruction | None = None) -> None:
        """Sets the instructions of a computation that was not read from text; the last one is the default root."""
        self._instructions = tuple(instructions)
        self._by_name = {instruction.name: instruction for instruction in instructions}
        self._root = root or (self._instructions[-1] if self._instructions else None)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        if self._instructions is None:
            self._read()
        return self._instructions or ()

    def instruction_at(self, position: int) -> Instruction:
        """One instruction by its place, without building the others."""
        if self._instructions is not None or self._indexed is None:
            return self.instructions[position]
        made = self._single.get(position)
        if made is None:
            line = self._indexed.line(position)
            name, opcode = line.group(2, 3)
            span = (line.end(2) + 3, line.end(3) + 1, line.end())
            made = self._single[position] = Instruction(self, name, opcode, position, span=span)
        return made

    @property
    def root(self) -> Instruction:
        """The result. Raises ContractLintError for a computation without instructions."""
        if self._root is None and self._instructions is None and self._indexed is not None and self._indexed.begins:
            self._root = self.instruction_at(self._indexed.root())
        if self._root is None:
            _ = self.instructions
        if self._root is None:
            raise ContractLintError(f"computation {self.name!r} has no instructions", self.location)
        return self._root

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameter instructions, by number, without building the others."""
        opcodes = self.opcodes()
        found = [self.instruction_at(place) for place, opcode in enumerate(opcodes) if opcode == "parameter"]
        return tuple(sorted(found, key=lambda i: i.parameter_number or 0))

    def opcodes(self) -> list[str]:
        """The opcode of each instruction in order, without building the instructions."""
        if self._opcodes is None:
            self._opcodes = [instruction.opcode for instruction in self.instructions]
        return self._opcodes

    @property
    def printed(self) -> IndexedComputation | None:
        """Its lines in the module's text; None where it was not read from one."""
        return self._indexed

    @property
    def location(self) -> Location | None:
        """Where it begins in the text it was read from; else its module, None where that has no name."""
        if self._indexed is not None:
            return self.module.location(self._indexed.header.end())
        return Location(self.module.path) if self.module.path else None

    def __len__(self) -> int:
        return len(self._indexed.begins) if self._instructions is None and self._indexed else len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __repr__(self) -> str:
        return f"<computation %{self.name}>"

    def find(self, name: str) -> Instruction | None:
        """The instruction of that name, `%` left out."""
        if self._indexed is None:
            if self._instructions is None:
                self._read()
            return self._by_name.get(name)
        if self._positions is None:
            self._positions = {name: position for position, name in enumerate(self._indexed.names())}
        position = self._positions.get(name)
        return None if position is None else self.instruction_at(position)

    def users_of(self, instruction: Instruction) -> tuple[Instruction, ...]:
        if self._users is None:
            users: dict[int, list[Instruction]] = {}
            pending = list(self.instructions)
            seen: set[int] = set()
            for user in pending:
                for operand in user.operands:
                    readers = users.setdefault(id(operand), [])
                    if not readers or readers[-1] is not user:
                        readers.append(user)
                    if operand.index < 0 and id(operand) not in seen:
                        seen.add(id(operand))
                        pending.append(operand)
            self._users = users
        return tuple(self._users.get(id(instruction), ()))

    def operand(self, name: str, path: str, shape: str | None, user: Instruction) -> Instruction:
        """The instruction `name`, or the element `#1#0` of it; an `undefined` instruction for a name nobody defines."""
        base = self.find(name) or self._made.get(name)
        if base is not None:
            user.reads(base)
        if base is None:
            known = user.located(parse_shape, shape) if shape else None
            base = Instruction(self, name, "undefined", shape=known, operands=(), attributes={}, near=user)
            self._made[name] = base
        for step in path.split("#")[1:]:
            key = f"{base.name}#{step}"
            made = self._made.get(key)
            if made is None:
                index = integer(step)
                parts = base.shape.parts
                if index >= len(parts):
                    message = f"instruction {user.name!r}: {base.name!r} has no tuple element {index}"
                    raise ContractLintError(message, user.location)
                made = Instruction(
                    self,
                    key,
                    "get-tuple-element",
                    shape=parts[index],
                    operands=(base,),
                    attributes={"index": step},
                    metadata=base.metadata,
                    near=user,
                )
                self._made[key] = made
            base = made
        return base

    def _read(self) -> None:
        count = len(self._indexed.begins) if self._indexed else 0
        self._instructions = tuple([self.instruction_at(position) for position in range(count)])
        if self._root is None and self._indexed and count:
            self._root = self._instructions[self._indexed.root()]


class HloModule:
    """A program as XLA holds it: one module, its computations in the order printed, one of them the entry."""

    __slots__ = (
        "_attributes",
        "_by_name",
        "_computations",
        "_entry",
        "_frames",
        "_header",
        "_place",
        "_tables",
        "name",
        "path",
        "text",
    )

    def __init__(
        self,
        name: str,
        *,
        attributes: dict[str, str] | None = None,
        frames: FrameTable | None = None,
        path: str = "",
        text: str = "",
    ) -> None:
        """An empty module; give it computations with `fill`. `attributes` are spelled as in the text's first line."""
        self.name = name
        self.path = path
        self.text = text
        self._attributes = attributes
        self._frames = frames
        self._computations: tuple[Computation, ...] = ()
        self._by_name: dict[str, Computation] = {}
        self._entry: Computation | None = None
        self._header = (0, 0)
        self._tables: dict[str, str] = {}
        self._place: Callable[[int], tuple[int, int]] | None = None

    @classmethod
    def from_text(cls, text: str, path: str = "") -> HloModule:
        index = index_text(text)
        module = cls(index.name, path=path, text=index.text)
        module._header, module._tables, module._place = index.header, index.tables, index.place
        entry: Computation | None = None
        computations = []
        for indexed in index.computations:
            computations.append(Computation(module, indexed.name, indexed))
            if indexed.is_entry:
                entry = computations[-1]
        module.fill(computations, entry)
        if not any(indexed.begins for indexed in index.computations):
            raise ContractLintError(f"HloModule {module.name!r} has no instructions", Location(path, 1, 1))
        return module

    def fill(self, computations: Sequence[Computation], entry: Computation | None = None) -> None:
        """Sets the computations; the last one is the default entry."""
        self._computations = tuple(computations)
        self._by_name = {computation.name: computation for computation in computations}
        self._entry = entry or (self._computations[-1] if self._computations else None)

    @property
    def computations(self) -> tuple[Computation, ...]:
        return self._computations

    @property
    def entry(self) -> Computation:
        if self._entry is None:
            raise ContractLintError(f"HloModule {self.name!r} has no computation", self.location(0))
        return self._entry

    @property
    def tells_places(self) -> bool:
        """Whether any instruction may say where it comes from: a text without metadata has none to look for."""
        return not self.text or "metadata=" in self.text

    @property
    def attributes(self) -> dict[str, str]:
        """The module's own attributes as printed: input_output_alias, entry_computation_layout, num_partitions, ..."""
        if self._attributes is None:
            try:
                self._attributes = read_attributes(self.text, *self._header)
            except ContractLintError as error:
                raise self._of_header(error) from None
        return self._attributes

    @property
    def num_partitions(self) -> int:
        """As the header says; XLA omits it when it is 1, and protobufs never carry it."""
        return self._number("num_partitions")

    @property
    def replica_count(self) -> int:
        return self._number("replica_count")

    def _number(self, key: str) -> int:
        """A count in the header; 1 where it is not given."""
        try:
            value = integer(self.attributes.get(key, "1"))
        except ContractLintError as error:
            raise self._of_header(error, f"{key}: ") from None
        if not 1 <= value <= MAX_DEVICES:
            raise self._of_header(ContractLintError(f"{key} is {value}, expected 1 to {MAX_DEVICES}"))
        return value

    def _of_header(self, error: ContractLintError, what: str = "") -> ContractLintError:
        if error.location is not None:
            return error
        return ContractLintError(
            f"in the first line: {what}{error.message}", self.location(self._header[0]), error.help
        )

    @property
    def is_scheduled(self) -> bool:
        return self.attributes.get("is_scheduled") == "true"

    @property
    def frames(self) -> FrameTable:
        if self._frames is None:
            self._frames = FrameTable.from_text(self._tables)
        return self._frames

    def find(self, name: str) -> Computation | None:
        """The computation of that name, `%` left out."""
        return self._by_name.get(name)

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of every computation, in order."""
        for computation in self._computations:
            yield from computation.instructions

    def place(self, offset: int) -> tuple[int, int]:
        """1-based line and column, in the text as given, of an offset in `text`."""
        return self._place(offset) if self._place else (1, 1)

    def location(self, offset: int) -> Location:
        return Location(self.path, *self.place(offset))

    def __repr__(self) -> str:
        return f"<HloModule {self.name}>"


@uncollected
def parse_hlo(text_or_bytes: str | bytes, path: str = "") -> HloModule:
    """HLO text, an HloModuleProto or HloProto, either of them gzipped, as a module; `path` is for messages only.

    Only an index is built here; everything else is read on first use. Raises ContractLintError with line and column
    for text that is no HLO, holds no instructions or is cut off, and for bytes that are neither text nor a protobuf.
    """
    try:
        if isinstance(text_or_bytes, str):
            return HloModule.from_text(text_or_bytes, path)
        data = bytes(text_or_bytes)
        if data.startswith(MAGIC):
            data = unpack(data, Location(""), MAX_BYTES)
        if data and not is_text(data):
            from .proto import module_from_proto

            return module_from_proto(data)
        return HloModule.from_text(_decode(data), path)
    except ContractLintError as error:
        if error.location is None or error.location.path or not path:
            raise
        place = Location(path, error.location.line, error.location.column)
        raise ContractLintError(error.message, place, error.help) from None


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"invalid UTF-8: byte 0x{data[error.start]:02x}"
        raise ContractLintError(message, Location("", line, column)) from None
