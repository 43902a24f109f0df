"""Names: each defined once, operands and computations above what reads and calls them."""

from __future__ import annotations

import re

from ...contracts.errors import ContractLintError
from ..instruction import LITERAL_OPCODES, Instruction
from ..module import Computation, HloModule
from ..proto_module import ProtoInstruction
from ..text.attributes import CALLED_KEYS, unquote
from ..text.index import IndexedComputation
from .rows import Rows, read_by

_CALLED = re.compile(rf", (?:{'|'.join(CALLED_KEYS)})=(?:%?([A-Za-z0-9_.\-]+)|(\{{[^{{}}]*\}}))")
_NAME = re.compile(r"%?([A-Za-z0-9_.\-]+)")
_WHOLE = "give the whole program: compiled.as_text()"


class Names:
    """Looks at the computations of one module, in the order they are printed."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        # A part that was pasted without the module's first line has no name, and names what stands elsewhere.
        self._is_whole = bool(module.name) or not module.text
        self._above: set[str] = set()

    def require(self, computation: Computation, rows: Rows | None) -> None:
        """Raises ContractLintError for a name that is defined twice, or not above the line that reads it."""
        if computation.name in self._above:
            said = f"computation {computation.name!r} is defined twice"
            raise ContractLintError(said, computation.location, "give one program at a time")
        printed = computation.printed
        if printed is None or rows is None:
            for instruction in computation.instructions:
                self._require_operands(instruction)
                self._require_callees(instruction)
        else:
            self._require_read(computation, rows)
            self._require_called(computation, printed)
        self._above.add(computation.name)

    def _require_read(self, computation: Computation, rows: Rows) -> None:
        defined: set[str] = set()
        covers, define = defined.issuperset, defined.add
        for position, ((name, _, operands, ends, _), opcode) in enumerate(
            zip(rows.of, computation.opcodes(), strict=True)
        ):
            if operands or not ends:
                is_known = ends and covers(read_by(operands))
                if not is_known and opcode not in LITERAL_OPCODES:
                    _require_once(computation, rows.names())
                    self._require_operands(computation.instruction_at(position))
            define(name)
        if len(defined) < len(rows.of):
            _require_once(computation, rows.names())

    def _require_called(self, computation: Computation, printed: IndexedComputation) -> None:
        called: set[str] = set()
        for one, several in _CALLED.findall(self._module.text, *printed.extent()):
            called.update(_NAME.findall(several) if several else (one,))
        if not self._above.issuperset(called):
            for instruction in computation.instructions:
                self._require_callees(instruction)

    def _require_operands(self, instruction: Instruction) -> None:
        # A name that a line below defines is refused where operands are resolved.
        for operand in instruction.operands:
            defines = operand
            while defines.index < 0 and defines.operands:
                defines = defines.operands[0]
            if defines.opcode == "undefined" and self._is_whole:
                said = f"instruction {instruction.name!r} reads {defines.name!r}, which no line above it defines"
                raise ContractLintError(said, instruction.location, _WHOLE)

    def _require_callees(self, instruction: Instruction) -> None:
        if isinstance(instruction, ProtoInstruction):
            if len(instruction.called) < len(instruction.proto.called_ids):
                said = f"instruction {instruction.name!r} calls a computation that the program does not hold"
                raise ContractLintError(said, instruction.location)
            names = [callee.name for callee in instruction.called]
        else:
            names = _called_by(instruction)
        for name in names:
            if name in self._above:
                continue
            if name == instruction.computation.name:
                said, help = f"instruction {instruction.name!r} calls the computation it stands in", None
            elif self._module.find(name) is not None:
                said = f"instruction {instruction.name!r} calls {name!r}, which stands below it"
                help = "computations stand above what calls them, or they call each other in a circle"
            elif self._is_whole:
                said = f"instruction {instruction.name!r} calls {name!r}, and the program holds no such computation"
                help = _WHOLE
            else:
                continue
            raise ContractLintError(said, instruction.location, help)


def _called_by(instruction: Instruction) -> list[str]:
    attributes = instruction.attributes
    return [
        name
        for key in CALLED_KEYS
        if key in attributes and not (key == "select" and instruction.opcode == "compare")
        for name in _NAME.findall(unquote(attributes[key]))
    ]


def _require_once(computation: Computation, names: list[str]) -> None:
    """Raises ContractLintError for the first name that two lines define."""
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in first:
            place = computation.instruction_at(first[name]).place
            said = f"instruction {name!r} is defined twice in computation {computation.name!r}"
            before = f", on line {place[0]} before" if place is not None else ""
            raise ContractLintError(said + before, computation.instruction_at(position).location)
        first[name] = position
