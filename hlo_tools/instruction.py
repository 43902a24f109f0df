"""One HLO instruction. Name and opcode are known from the index; everything else is read on first use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.manifest import Frame
from .frames import user_frame
from .shape import Shape, parse_shape
from .text.attributes import (
    CALLED_KEYS,
    UNKNOWN_SHAPE,
    integer,
    operands_end,
    read_attributes,
    read_backend_config,
    read_frontend_attributes,
    read_pairs,
    split_list,
    unquote,
)

if TYPE_CHECKING:
    from .module import Computation, HloModule

LITERAL_OPCODES = frozenset(("constant", "parameter"))
_FUSED = re.compile(r"\), kind=\w+, calls=%?([A-Za-z0-9_.\-]+)")
_NAME = re.compile(r"%?([A-Za-z0-9_.\-]+)")
_OPERAND = re.compile(r"(?:(.*)\s)?%?([A-Za-z0-9_.\-]+)((?:#\d+)*)$", re.DOTALL)


class Instruction:
    """An instruction of a computation.

    Built from a line of text, or from parts that are known already (a protobuf): then `shape`, `operands`,
    `attributes` (values spelled as XLA prints them), `literal` and `called` are given and nothing is parsed.
    Operands are resolved inside the computation; an operand spelled `%x#1` is a `get-tuple-element` made on the fly
    (it is no member of `computation.instructions`), and a name the text does not define an `undefined` instruction.
    """

    __slots__ = (
        "_attributes",
        "_called",
        "_literal",
        "_metadata",
        "_near",
        "_operands",
        "_shape",
        "_span",
        "computation",
        "index",
        "name",
        "opcode",
    )

    def __init__(
        self,
        computation: Computation,
        name: str,
        opcode: str,
        index: int = -1,
        *,
        shape: Shape | None = None,
        operands: Sequence[Instruction] | None = None,
        attributes: dict[str, str] | None = None,
        called: Sequence[Computation] | None = None,
        literal: str | None = None,
        metadata: dict[str, str] | None = None,
        span: tuple[int, int, int] | None = None,
        near: Instruction | None = None,
    ) -> None:
        """`index` is the place in program order (the schedule's where there is one), -1 for instructions made here.

        `span` is (start of the shape, start of the operands, end of the line) in the module's text. `literal` is what
        stands between the parentheses of a constant or parameter. `near` is the reader of one that no line defines.
        """
        self.computation = computation
        self.name = name
        self.opcode = opcode
        self.index = index
        self._shape = shape
        self._operands = tuple(operands) if operands is not None else None
        self._attributes = attributes
        self._called = tuple(called) if called is not None else None
        self._literal = literal
        self._metadata = metadata
        self._span = span
        self._near = near

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def module(self) -> HloModule:
        return self.computation.module

    @property
    def shape(self) -> Shape:
        """The result's shape. Raises ContractLintError with the line where none is printed and none can be inferred."""
        if self._shape is None:
            if self._span is None:
                raise ContractLintError(
                    f"the shape of {self.name!r} is not known: no line of this text defines it",
                    self.location,
                    "give the lines that define operands too, operands with their shapes (`dot(f32[8,4] x, ...)`), "
                    "or the whole program: compiled.as_text()",
                )
            start, operands, _ = self._span
            text = self.module.text[start : operands - len(self.opcode) - 2]
            if text == UNKNOWN_SHAPE:
                from .infer import infer_shape

                self._shape = infer_shape(self)
            else:
                self._shape = self.located(parse_shape, text)
        return self._shape

    @property
    def has_shape(self) -> bool:
        """False while the shape is not printed and not inferred yet."""
        if self._shape is not None or self._span is None:
            return True
        return not self.module.text.startswith(UNKNOWN_SHAPE + " ", self._span[0])

    def set_shape(self, shape: Shape) -> None:
        self._shape = shape

    @property
    def is_root(self) -> bool:
        return self.computation.root is self

    @property
    def operands(self) -> tuple[Instruction, ...]:
        if self._operands is None:
            self._operands = self._resolve()
        return self._operands

    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that read this one, each once, in program order."""
        return self.computation.users_of(self)

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations this instruction runs, in XLA's order (a while: body, condition).

        An `async-update` or `async-done` runs none: its text repeats that of its `async-start`.
        """
        if self._called is None:
            self._called = self._find_called()
        return self._called

    @property
    def attributes(self) -> dict[str, str]:
        """Every `key=value` after the operands, values as printed. Unknown keys of newer compilers are kept."""
        if self._attributes is None:
            if self._span is None:
                return {}
            _, start, stop = self._span
            text = self.module.text
            end = self.located(operands_end, text, start, stop)
            self._attributes = self.located(read_attributes, text, end + 1, stop)
        return self._attributes

    @property
    def operand_text(self) -> str:
        """What stands between the parentheses: a constant's literal, a parameter's number, operands as printed."""
        if self._literal is not None:
            return self._literal
        if self._span is None:
            return ", ".join(f"%{operand.name}" for operand in self.operands)
        _, start, stop = self._span
        text = self.module.text
        return text[start : self.located(operands_end, text, start, stop)]

    @property
    def parameter_number(self) -> int | None:
        return self.located(integer, self.operand_text) if self.opcode == "parameter" else None

    @property
    def tuple_index(self) -> int | None:
        """The element a `get-tuple-element` reads."""
        if self.opcode != "get-tuple-element" or "index" not in self.attributes:
            return None
        return self.located(integer, self.attributes["index"])

    @property
    def channel_id(self) -> int | None:
        value = self.attributes.get("channel_id")
        return self.located(integer, value) if value else None

    @property
    def literal(self) -> int | None:
        """The value of a scalar integer or boolean constant; None for every other constant and instruction."""
        if self.opcode != "constant":
            return None
        text = self.operand_text.strip()
        if text in ("true", "false"):
            return int(text == "true")
        if " " in text:
            text = text.rsplit(None, 1)[-1]
        digits = text.lstrip("-")
        return int(text) if digits.isdecimal() and digits.isascii() and len(digits) < 20 else None

    # -- where it comes from --------------------------------------------------------------------------------------

    @property
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            value = self.attributes.get("metadata")
            self._metadata = read_pairs(value) if value else {}
        return self._metadata

    @property
    def op_name(self) -> str:
        """JAX's name stack, `jit(step)/transpose(jvp())/while/body/attn/dot_general`; empty where there is none."""
        return self.metadata.get("op_name", "")

    @property
    def frames(self) -> list[Frame]:
        """The Python stack, innermost frame first."""
        frame_id = self.metadata.get("stack_frame_id", "")
        if frame_id.isdecimal() and len(frame_id) < 19:
            frames = self.module.frames.stack(int(frame_id))
            if frames:
                return frames
        path, line = self.metadata.get("source_file"), self.metadata.get("source_line", "")
        if path and line.isdecimal() and len(line) < 19:
            return [Frame(path=path, line=int(line))]
        return []

    @property
    def source(self) -> str | None:
        """`path:line` of the innermost frame outside installed packages, None where the program does not say."""
        frame = user_frame(self.frames)
        return f"{frame.path}:{frame.line}" if frame else None

    @property
    def backend_config(self) -> dict[str, Any] | str | None:
        value = self.attributes.get("backend_config")
        return None if value is None else read_backend_config(value)

    @property
    def frontend_attributes(self) -> dict[str, str]:
        value = self.attributes.get("frontend_attributes")
        return read_frontend_attributes(value) if value else {}

    @property
    def place(self) -> tuple[int, int] | None:
        """1-based line and column in the text it was read from."""
        return self.module.place(self._span[0]) if self._span else None

    @property
    def location(self) -> Location | None:
        """Where it stands; for one made here, where the instruction stands that reads it."""
        if self._span is not None:
            return self.module.location(self._span[0])
        return self._near.location if self._near is not None else None

    def __repr__(self) -> str:
        return f"<{self.opcode} %{self.name}>"

    # -- reading --------------------------------------------------------------------------------------------------

    def located(self, read: Any, *arguments: Any) -> Any:
        """`read(*arguments)`; an error of it gets this instruction's name and place."""
        try:
            return read(*arguments)
        except ContractLintError as error:
            if error.location is not None or self._span is None:
                raise
            message = f"instruction {self.name!r}: {error.message}"
            raise ContractLintError(message, self.location) from None

    def reads(self, operand: Instruction) -> Instruction:
        """The operand. Raises ContractLintError where it is made no earlier: XLA prints no such program, and what
        follows operands would go round in it for ever."""
        if operand.index >= self.index >= 0:
            which = "its own result" if operand is self else f"{operand.name!r}, which is made below it"
            raise ContractLintError(
                f"instruction {self.name!r} reads {which}",
                self.location,
                "an instruction's operands stand above it: give the program as the compiler printed it",
            )
        return operand

    def _resolve(self) -> tuple[Instruction, ...]:
        if self.opcode in LITERAL_OPCODES or self._span is None:
            return ()
        computation = self.computation
        found = []
        for item in self.located(split_list, self.operand_text):
            if item[:1] == "%":
                known = computation.find(item[1:])
                if known is not None:
                    found.append(self.reads(known))
                    continue
            match = _OPERAND.match(item)
            if match is None:
                if item:
                    raise ContractLintError(f"instruction {self.name!r}: not an operand: {item[:60]!r}", self.location)
                continue
            shape, name, path = match.groups()
            found.append(computation.operand(name, path, shape, self))
        return tuple(found)

    def _find_called(self) -> tuple[Computation, ...]:
        if self._attributes is None and self._span is not None and self.opcode == "fusion":
            # Fusions are many and name their computation right after the operands.
            match = _FUSED.search(self.module.text, self._span[1], self._span[2])
            computation = self.module.find(match[1]) if match else None
            if computation is not None:
                return (computation,)
        if self.opcode in ("async-update", "async-done"):
            return ()
        attributes = self.attributes
        found = []
        for key in CALLED_KEYS:
            value = attributes.get(key)
            if value is None or (key == "select" and self.opcode == "compare"):
                continue
            for name in _NAME.findall(unquote(value)):
                computation = self.module.find(name)
                if computation is not None:
                    found.append(computation)
        return tuple(found)
