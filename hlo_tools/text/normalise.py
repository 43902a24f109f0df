"""Rewrites HLO text of any layout into the form the index reads: one instruction to a line, nothing nested.

HLO's grammar ignores line breaks, allows comments, computations without a header, instructions as operands and
computations as attribute values. People also paste single instruction lines. All of these become plain lines here;
an instruction used as an operand and a computation used as a value get names of their own. Places in errors are
those of the text as given.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ..shape import scan_shape
from .attributes import CALLED_KEYS, MESH_DEVICES, UNKNOWN_SHAPE, closing, operands_end, value_end
from .index import TextIndex, line_and_column, no_instructions, read_header, scan_lines

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"|\'[^\'\n]*+\'|/\*.*?\*/|//[^\n]*+', re.DOTALL)
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"%?([A-Za-z_0-9][A-Za-z0-9_.\-]*)")
_COMPUTATION = re.compile(r"(ENTRY\s+)?%?([A-Za-z_][A-Za-z0-9_.\-]*)\s*(?=[({])")
_ANONYMOUS = re.compile(r"ENTRY\s*(?=\{)")
_INSTRUCTION = re.compile(r"(ROOT\s+)?%?([A-Za-z_0-9][A-Za-z0-9_.\-]*)\s*=\s*")
_OPCODE = re.compile(r"([a-z][A-Za-z0-9_\-]*)\s*\(")
_SHAPE_START = re.compile(r"\(|[a-z][a-z0-9]*\[|b\(")
_ATTRIBUTE = re.compile(r"\s*,\s*([A-Za-z_][\w.\-]*)\s*=\s*")
_AFTER_VALUE = re.compile(r"\s*(?:,|\}|%?[A-Za-z_0-9][A-Za-z0-9_.\-]*\s*=[^=]|ROOT\s|\Z)")
_WORD = re.compile(r"[^\s,{}()\[\]\"']+")
_CONTINUES = re.compile(r"[ \t\n]*(?=[\[{(]|<=)")
_OPEN_COMPUTATION = re.compile(r"\{\s*(?:ROOT\s+)?%?[A-Za-z_0-9][A-Za-z0-9_.\-]*\s*=\s")
_THREAD = re.compile(r"\s*,\s*([a-z_]+)=(\"[^\"\n]*\")")
_OPERAND_END = re.compile(r"\s*[,)]")
_LITERAL_OPCODES = ("constant", "parameter")


@dataclass(slots=True)
class _Line:
    """One instruction under construction."""

    name: str
    is_root: bool
    offset: int
    shape: str
    opcode: str
    operands: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    in_operands: bool = True


@dataclass(slots=True)
class _Block:
    """One computation under construction; `lines` are finished (offset, text) pairs."""

    name: str
    is_entry: bool
    offset: int
    lines: list[tuple[int, str]] = field(default_factory=list)
    open: list[_Line] = field(default_factory=list)
    unnamed: dict[str, int] = field(default_factory=dict)
    end: str = "}"


def _blank(match: re.Match[str]) -> str:
    """Comments become blanks and line breaks inside strings too, so that offsets stay."""
    text = match[0]
    if text[0] in "\"'":
        return text.replace("\n", " ")
    return "".join("\n" if c == "\n" else " " for c in text) if "\n" in text else " " * len(text)


def normalise(text: str) -> TextIndex:
    """The index of a text of any layout; `text` begins with one extra newline."""
    return _Normaliser(text).run()


class _Normaliser:
    def __init__(self, text: str) -> None:
        self.original = text
        self.text = _COMMENT.sub(_blank, text)
        self.blocks: list[_Block] = []
        self.open: list[_Block] = []
        self.anonymous = 0

    def run(self) -> TextIndex:
        name, attributes, tables, at = read_header(self.text)
        self._computations(at)
        if self.open:
            block = self.open[-1]
            line, _ = line_and_column(self.original, block.offset)
            raise self._error(
                len(self.original.rstrip()) or 1,
                f"the HLO text ends inside computation {block.name!r} (begun on line {line}): it is cut off",
            )
        blocks = [b for b in self.blocks if b.lines]
        if not blocks:
            raise no_instructions(name)
        return self._index(name, self.text[attributes[0] : attributes[1]], tables, blocks)

    def _error(self, offset: int, message: str) -> ContractLintError:
        return ContractLintError(message, Location("", *line_and_column(self.original, offset)))

    def _skip(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]

    def _computations(self, at: int) -> None:
        text = self.text
        fragment: _Block | None = None
        while True:
            if self.open and self.open[-1].open:
                at = self._operands(at) if self.open[-1].open[-1].in_operands else self._attributes(at)
                continue
            if fragment is not None and self.open and self.open[-1] is fragment:
                self.open.pop()
            at = self._skip(at)
            if at >= len(text):
                return
            if self.open and text[at] == "}":
                at = self._close(at)
                continue
            match = _INSTRUCTION.match(text, at)
            if match:
                if not self.open:
                    if fragment is None:
                        fragment = _Block("fragment", not self.blocks, at)
                        self.blocks.append(fragment)
                    self.open.append(fragment)
                at = self._begin(match.end(), match[2], match[1] is not None, at)
                continue
            if self.open:
                raise self._error(at, f"expected an instruction, found {text[at : at + 30]!r}")
            at = self._header(at)

    def _header(self, at: int) -> int:
        text = self.text
        if text.startswith("HloModule", at):
            raise self._error(at, "a second HloModule begins here: give one module at a time")
        anonymous = _ANONYMOUS.match(text, at)
        match = None if anonymous else _COMPUTATION.match(text, at)
        if anonymous:
            name, is_entry, end = "entry", True, anonymous.end()
        elif match:
            name, is_entry, end = match[2], match[1] is not None, match.end()
        else:
            found = text[at : at + 30].strip().partition("\n")[0]
            raise self._error(at, f"expected a computation or an instruction, found {found!r}")
        try:
            if text[end] == "(":
                end = self._skip(closing(text, end, len(text)))
                if text.startswith("->", end):
                    _, end = scan_shape(text, self._skip(end + 2))
                    end = self._skip(end)
        except ContractLintError as error:
            raise self._error(at, error.message) from None
        if not text.startswith("{", end):
            raise self._error(at, f"expected the `{{` of computation {name!r}, found {text[end : end + 30]!r}")
        self.open.append(_Block(name, is_entry, at))
        return end + 1

    def _close(self, at: int) -> int:
        """An inline computation ends before its caller, so it is listed before it, as XLA prints it."""
        block = self.open.pop()
        self.blocks.append(block)
        end = at + 1
        if not self.open:
            while match := _THREAD.match(self.text, end):
                block.end += f", {match[1]}={match[2]}"
                end = match.end()
        return end

    def _begin(self, at: int, name: str, is_root: bool, offset: int) -> int:
        """Reads `shape? opcode(` of an instruction whose name is known and opens it."""
        text = self.text
        shape, at = self._shape(at)
        opcode = _OPCODE.match(text, at)
        if opcode is None:
            raise self._error(at, f"expected an opcode and `(`, found {text[at : at + 30]!r}")
        self.open[-1].open.append(_Line(name, is_root, offset, shape or UNKNOWN_SHAPE, opcode[1]))
        return opcode.end()

    def _shape(self, at: int) -> tuple[str, int]:
        if not _SHAPE_START.match(self.text, at):
            return "", at
        try:
            shape, end = scan_shape(self.text, at)
        except ContractLintError as error:
            raise self._error(at, error.message) from None
        return shape.text, self._skip(end)

    def _operands(self, at: int) -> int:
        """Operands of the innermost open instruction. An instruction among them is opened and read first."""
        text = self.text
        line = self.open[-1].open[-1]
        if line.opcode in _LITERAL_OPCODES:
            try:
                end = operands_end(text, at, len(text))
            except ContractLintError as error:
                raise self._error(at, error.message) from None
            line.operands.append(_one_line(text[at:end]))
            line.in_operands = False
            return end + 1
        while True:
            at = self._skip(at)
            if at >= len(text):
                raise self._error(at - 1, f"the operands of {line.name!r} are cut off")
            if text[at] == ")":
                line.in_operands = False
                return at + 1
            if text[at] == ",":
                at += 1
                continue
            begin = at
            shape, at = self._shape(at)
            nested = _OPCODE.match(text, at)
            if nested:
                name = self._fresh(nested[1])
                line.operands.append(f"%{name}")
                return self._begin(begin, name, False, begin)
            if shape and text[at : at + 1] == ",":
                # XLA's parser lets a comma stand between an operand's shape and its name.
                at = self._skip(at + 1)
            end = self._operand_end(at)
            line.operands.append(f"{shape} {_one_line(text[at:end]).strip()}".lstrip())
            at = end

    def _operand_end(self, at: int) -> int:
        name = _NAME.match(self.text, at)
        if name and _OPERAND_END.match(self.text, name.end()):
            return name.end()
        try:
            end = value_end(self.text, at, len(self.text))
        except ContractLintError as error:
            raise self._error(at, error.message) from None
        if end == at or "=" in self.text[at:end]:
            raise self._error(at, f"expected an operand, found {self.text[at : at + 30]!r}")
        return end

    def _attributes(self, at: int) -> int:
        """Attributes of the innermost open instruction; closes it, or opens the computation one of them holds."""
        text = self.text
        block = self.open[-1]
        line = block.open[-1]
        while match := _ATTRIBUTE.match(text, at):
            at = match.end()
            if match[1] in CALLED_KEYS and _OPEN_COMPUTATION.match(text, at):
                self.anonymous += 1
                name = f"_.{self.anonymous}"
                line.attributes.append(f"{match[1]}=%{name}")
                self.open.append(_Block(name, False, at))
                return at + 1
            end = self._value_end(at)
            line.attributes.append(f"{match[1]}={_one_line(text[at:end]).strip()}")
            at = end
        block.open.pop()
        self._finish(block, line)
        if not block.open and not _AFTER_VALUE.match(text, at) and not self._begins_something(at):
            at = self._skip(at)
            raise self._error(at, f"expected the next instruction, found {text[at : at + 30]!r}")
        return at

    def _begins_something(self, at: int) -> bool:
        at = self._skip(at)
        return bool(_COMPUTATION.match(self.text, at) or _ANONYMOUS.match(self.text, at))

    def _value_end(self, at: int) -> int:
        """A value is a string, or words and bracket groups that follow one another (`mesh['a'=2] {'a'}`)."""
        text, begin = self.text, at
        try:
            while at < len(text):
                if text[at] in "{([":
                    at = closing(text, at, len(text))
                elif text[at] in "\"'":
                    match = _COMMENT.match(text, at)
                    if match is None:
                        raise self._error(at, f"a string is never closed: {text[at : at + 40]!r}")
                    at = match.end()
                elif word := _WORD.match(text, at):
                    at = word.end()
                else:
                    break
                more = _CONTINUES.match(text, at)
                if more:
                    at = more.end()
                elif text.startswith("mesh", begin) and (devices := MESH_DEVICES.match(text, at)):
                    at = devices.end() - 1
                elif at >= len(text) or text[at] not in "<TM->+0123456789":
                    break
        except ContractLintError as error:
            raise (error if error.location else self._error(begin, error.message)) from None
        if at == begin:
            raise self._error(at, f"expected a value, found {text[at : at + 30]!r}")
        return at

    def _fresh(self, opcode: str) -> str:
        """XLA's name for an instruction that stands as an operand: `add.anon`, `add.anon.1`, ..."""
        unnamed = self.open[-1].unnamed
        number = unnamed[opcode] = unnamed.get(opcode, -1) + 1
        return f"{opcode}.anon.{number}" if number else f"{opcode}.anon"

    def _finish(self, block: _Block, line: _Line) -> None:
        root = "ROOT " if line.is_root else ""
        attributes = "".join(f", {item}" for item in line.attributes)
        operands = ", ".join(line.operands)
        block.lines.append((line.offset, f"  {root}%{line.name} = {line.shape} {line.opcode}({operands}){attributes}"))

    def _index(self, name: str, attributes: str, tables: dict[str, str], blocks: list[_Block]) -> TextIndex:
        """The canonical text, indexed, with the offset each of its lines had in the text as given."""
        header = f"\nHloModule {name or 'fragment'}"
        pieces, starts, origins = [header, _one_line(attributes), "\n"], [], []
        length = sum(map(len, pieces))
        begin = length
        for block in blocks:
            entry = "ENTRY " if block.is_entry else ""
            for origin, line in ((block.offset, f"{entry}%{block.name} {{"), *block.lines, (-1, block.end)):
                pieces.append("\n" + line)
                if origin >= 0:
                    starts.append(length)
                    origins.append(origin)
                length += len(line) + 1
        canonical = "".join(pieces)
        computations = scan_lines(canonical, begin)
        if computations is None:
            raise ContractLintError(f"HloModule {name!r} holds lines that cannot be read", Location("", 1, 1))

        def place(offset: int) -> tuple[int, int]:
            nearest = bisect.bisect_right(starts, offset) - 1
            return line_and_column(self.original, origins[max(0, nearest)])

        span = (len(header), len(header) + len(_one_line(attributes)))
        return TextIndex(canonical, name, span, tables, computations, place)


def _one_line(text: str) -> str:
    return text.replace("\n", " ") if "\n" in text else text
