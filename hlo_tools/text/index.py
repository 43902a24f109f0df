"""The one pass that every reader of HLO text shares: which computation and which instruction begins where.

A text as XLA prints it has one instruction to a line. A single regular expression walks it line by line at the
speed of the C matcher; shapes, operands and attributes stay unread. A text with another layout (tests, pasted
fragments, instructions over several lines, nested computations) is first rewritten by `normalise`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from sys import intern

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .attributes import closing, skip_string

# Groups: 1 ROOT, 2 instruction name, 3 opcode | 4 ENTRY, 5 computation name | 6 end of a computation.
# A tuple shape is skipped lazily up to the first `) opcode(`; any other shape holds no blank.
_LINE = re.compile(
    r"\n[ \t\n]*+(?:"
    r"(ROOT )?+%?+([A-Za-z0-9_.\-]++) = (?:[a-z][a-z0-9]*+\[[^\s]*+|b?\([^\n]*?\)) ([a-z][a-z0-9\-]*+)"
    r"\([^\n]*+(?<![{,(])"
    r"|(ENTRY )?+%?+([A-Za-z_][A-Za-z0-9_.\-]*+)[ ]?+(?:\([^\n]*|)\{[ \t]*+(?=\n|\Z)"
    r"|(\})(?:, [a-z_]++=\"[^\"\n]*+\")*+[ \t]*+(?://[^\n]*+)?+(?=\n|\Z)"
    r"|\Z)"
)
INSTRUCTION, COMPUTATION, END = 3, 5, 6

_NAMES = re.compile(r"\n[ \t\n]*+(?:ROOT )?+%?+([A-Za-z0-9_.\-]++) = ")

_NESTED = re.compile(r"(?:\(|, )(?:[a-z][a-z0-9]*+\[[^\s()\]]*+\](?:\{[^\s}]*+\})?+ )?+[a-z][a-z0-9\-]*+\((?!\*)")
# Longer texts come from a compiler, which writes neither comments at the end of a line nor nested operands.
_SHORT = 1 << 18

_COMMENT_LINE = re.compile(r"\n\s*+//[^\n]*")
_TABLE = re.compile(r"\s*+(FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*\n((?:[ \t]*\d+ [^\n]*(?:\n|\Z))*)")
_HEADER = re.compile(r"\s*+HloModule\s++([^\s,]+)")
_BREAK = re.compile(r"""["'{}()\[\],\n]""")
_COMMA = re.compile(r"\s*+,\s*+(?=[A-Za-z_])")


@dataclass(slots=True)
class IndexedComputation:
    """One computation: its header line, where each instruction line begins, and the opcode on it.

    A line is matched once more when its instruction is wanted: a match kept for each of the millions of lines of a
    long text is memory that takes longer to get than the few wanted ones take to find again.
    """

    name: str
    is_entry: bool
    header: re.Match[str]
    begins: list[int] = field(default_factory=list)
    opcodes: list[str] = field(default_factory=list)

    def line(self, position: int) -> re.Match[str]:
        """The instruction line at that place in the computation; groups as in `_LINE`."""
        found = _LINE.match(self.header.string, self.begins[position])
        assert found is not None
        return found

    def root(self) -> int:
        """The place of the line marked ROOT, the last one where none is."""
        last = len(self.begins) - 1
        return next((position for position in range(last, -1, -1) if self.line(position)[1]), last)

    def names(self) -> list[str]:
        """The name of each instruction, `%` left out."""
        if not self.begins:
            return []
        return _NAMES.findall(self.header.string, *self.extent())

    def extent(self) -> tuple[int, int]:
        """Where its first instruction line begins, and where its last one ends."""
        return (self.begins[0], self.line(-1).end()) if self.begins else (0, 0)


@dataclass(slots=True)
class TextIndex:
    """Where everything lies in `text`, which begins with one newline more than what was given.

    `place` turns an offset in `text` into (line, column), both 1-based, of the text as given.
    """

    text: str
    name: str
    header: tuple[int, int]
    tables: dict[str, str]
    computations: list[IndexedComputation]
    place: Callable[[int], tuple[int, int]]


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """1-based place of an offset in a text that begins with one extra newline."""
    return max(1, text.count("\n", 0, offset)), offset - text.rfind("\n", 0, max(offset, 1))


def read_header(text: str) -> tuple[str, tuple[int, int], dict[str, str], int]:
    """Module name, span of its attributes, raw stack-frame tables by title, and where the computations begin."""
    at, name, attributes = 0, "", (0, 0)
    match = _HEADER.match(text)
    if match:
        name, at = match[1], match.end()
        end = at
        while comma := _COMMA.match(text, end):
            try:
                end = _attribute_stop(text, comma.end())
            except ContractLintError as error:
                place = Location("", *line_and_column(text, comma.end()))
                raise ContractLintError(f"in the first line: {error.message}", place) from None
        attributes = (at, end)
        at = end
    tables: dict[str, str] = {}
    while table := _TABLE.match(text, at):
        tables[table[1]] = table[2]
        at = table.end()
    if at and text[at - 1] == "\n":
        at -= 1
    return name, attributes, tables, at


def _attribute_stop(text: str, at: int) -> int:
    """A header attribute ends at a comma or a line break outside brackets and strings."""
    while match := _BREAK.search(text, at):
        mark, at = match[0], match.start()
        if mark in "{([":
            at = closing(text, at, len(text))
        elif mark in "\"'":
            at = skip_string(text, at, len(text))
        else:
            return at
    return len(text)


def _has_comments(text: str, start: int) -> bool:
    """True where `//` stands outside a string, or a `/*` that is not an `/*index=` mark.

    XLA closes a computation with `} // name`; those are read by `_LINE` itself.
    """
    if text.count("/*", start) != text.count("/*index=", start):
        return True
    at, counted, line, quotes = text.find("//", start), start, start, 0
    while at >= 0:
        begin = text.rfind("\n", counted, at)
        if begin >= 0:
            line, quotes, counted = begin, 0, begin
        quotes += text.count('"', counted, at) - text.count('\\"', counted, at)
        counted = at
        closes = at - line < 200 and text[line:at].lstrip().startswith("}")
        if quotes % 2 == 0 and not closes:
            return True
        at = text.find("//", at + 2)
    return False


def scan_lines(text: str, start: int) -> list[IndexedComputation] | None:
    """The computations of a text that has one instruction to a line; None where it is laid out otherwise."""
    computations: list[IndexedComputation] = []
    current: IndexedComputation | None = None
    begin: Callable[[int], None] | None = None
    opcode: Callable[[str], object] = str
    end = start
    for match in _LINE.finditer(text, start):
        kind = match.lastindex
        at, stop = match.span()
        if at != end:
            break
        end = stop
        if kind == INSTRUCTION:
            if begin is None:
                return None
            begin(at)
            opcode(intern(match[3]))
        elif kind == COMPUTATION:
            if current is not None:
                return None
            current = IndexedComputation(match[5], match[4] is not None, match)
            computations.append(current)
            begin, opcode = current.begins.append, current.opcodes.append
        elif kind == END:
            if current is None:
                return None
            current, begin = None, None
    if end != len(text):
        if text.find("\n", end + 1) < 0 and current is not None:
            raise _truncated(text, current)
        return None
    if current is not None:
        raise _truncated(text, current)
    return computations


def _truncated(text: str, computation: IndexedComputation) -> ContractLintError:
    line, column = line_and_column(text, len(text.rstrip()) or 1)
    begin, _ = line_and_column(text, computation.header.end())
    return ContractLintError(
        f"the HLO text ends inside computation {computation.name!r} (begun on line {begin}): it is cut off",
        Location("", line, column),
        help="give the whole file; a terminal or a log viewer may have cut it",
    )


def index_text(text: str) -> TextIndex:
    """Index any HLO text. Raises ContractLintError with line and column where it is no HLO or is cut off."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = "\n" + text
    if text.isspace():
        raise ContractLintError("the HLO text is empty", Location("", 1, 1))
    found = _by_lines(text) if not _COMMENT_LINE.match(text) else None
    if found is None and len(text) > _SHORT:
        # Tests of XLA begin and end with lines of comments; a blank for each character keeps all places.
        found = _by_lines(_COMMENT_LINE.sub(_blanked, text))
    if found is not None:
        return found
    from .normalise import normalise

    return normalise(text)


def _blanked(lines: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", lines[0])


def _by_lines(text: str) -> TextIndex | None:
    """The index of a text that has one instruction to a line; None where it is laid out otherwise."""
    name, attributes, tables, start = read_header(text)
    if len(text) <= _SHORT and (_has_comments(text, start) or _NESTED.search(text, start)):
        return None
    computations = scan_lines(text, start)
    if computations is None:
        return None
    if not computations:
        raise no_instructions(name)
    return TextIndex(text, name, attributes, tables, computations, lambda at: line_and_column(text, at))


def no_instructions(name: str) -> ContractLintError:
    what = f"HloModule {name!r} holds no computation" if name else "this is no HLO text: no computation in it"
    return ContractLintError(what, Location("", 1, 1), help="expected the text of an HloModule, or its protobuf")
