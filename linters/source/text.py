"""One file of Python source: its bytes decoded as Python would, its lines, and where a node of its tree stands."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ...contracts.finding import Location

if TYPE_CHECKING:
    from .notebook import Notebook

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?\r?$")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "_tests"})
_EXAMPLE_FOLDERS = frozenset({"example", "examples", "tutorial", "tutorials", "demo", "demos", "notebooks"})
_BREAK = re.compile(r"\r\n|\r|\n")
_WIDE_BOMS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Unreadable(Exception):
    """Why bytes are no Python source: one clause, and the place where it shows."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        self.reason, self.line, self.column = reason, line, column
        super().__init__(reason)


def speaks(text: str) -> bool:
    """Whether a text may hold comments to this program, in capitals too: those are told that they do nothing."""
    return "contract-lint" in text.lower()


@dataclass(frozen=True)
class SourceText:
    """The text of one file.

    `path` is the path as shown in findings, `file` the absolute one that tells which module this is. `text` keeps the
    file's own line ends. A notebook's text is that of its cells, one after another, magics blanked; `notebook` knows
    where each line came from, and places are counted in the text until a report is made. `state` is what the file
    system said of the file, where that tells whether it changed (see `unread`).
    """

    path: str
    text: str
    digest: str
    file: str = ""
    encoding: str = "utf-8"
    bom: bool = False
    notebook: Notebook | None = field(default=None, compare=False)
    state: list[int] | None = field(default=None, compare=False)

    @property
    def speaks(self) -> bool:
        """Whether it may hold comments to this program."""
        return speaks(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, split where Python splits them (not at form feeds or Unicode separators)."""
        return _BREAK.split(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line in the text."""
        return [0, *(found.end() for found in _BREAK.finditer(self.text))]

    def forget(self) -> None:
        """Lets go of what can be computed from the text again."""
        self.__dict__.pop("lines", None)
        self.__dict__.pop("_starts", None)

    def offset(self, line: int, column: int) -> int | None:
        """The offset in the text of a 1-based place; None where there is no such place."""
        if not 0 < line <= len(self._starts) or not 0 < column <= len(self.lines[line - 1]) + 1:
            return None
        return self._starts[line - 1] + column - 1

    def between(self, place: Location) -> str:
        """The text of a place."""
        start = self.offset(place.line or 1, place.column or 1)
        return self.text[start : self.offset(place.end_line or 1, place.end_column or 1)]

    @property
    def newline(self) -> str:
        """The line end of the first line, which new lines get as well."""
        found = _BREAK.search(self.text)
        return found[0] if found else "\n"

    def column(self, line: int, offset: int) -> int:
        """The 1-based column, in characters, of a 0-based offset in UTF-8 bytes, which is how `ast` counts."""
        if not 0 < line <= len(self.lines):
            return offset + 1
        text = self.lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1

    def place(self, node: Any) -> Location:
        """Where a node of `ast.parse(text)` begins and ends."""
        line, end = node.lineno, node.end_lineno or node.lineno
        end_offset = node.end_col_offset
        return Location(
            self.path,
            line,
            self.column(line, node.col_offset),
            end,
            None if end_offset is None else self.column(end, end_offset),
        )


def is_test_path(path: str) -> bool:
    """Whether a file of this name, in this folder, is a test or a helper of tests."""
    folders, _, name = path.rpartition("/")
    return (
        name.startswith("test_")
        or name.endswith(("_test.py", "_tests.py"))
        or name in ("conftest.py", "testing.py", "test_utils.py")
        or not _TEST_FOLDERS.isdisjoint(folders.split("/"))
    )


def is_example_path(path: str) -> bool:
    """Whether a file stands in a folder of examples."""
    return any(each in _EXAMPLE_FOLDERS or each.endswith("_examples") for each in path.lower().split("/")[:-1])


def digest_of(data: bytes) -> str:
    """The content's name: 32 hex digits."""
    return blake2b(data, digest_size=16).hexdigest()


def plain_source(path: str, text: str, file: str = "") -> SourceText:
    """Text that is at hand as a string: an example, or what an editor holds."""
    return SourceText(path, text, digest_of(text.encode("utf-8", "surrogatepass")), file)


def source_text(data: bytes, path: str, file: str = "", state: list[int] | None = None) -> SourceText:
    """The source that `data` holds. Raises Unreadable where Python could not read it either.

    PEP 263 declarations and a UTF-8 byte order mark are honoured; null bytes are refused with their line.
    `state` is kept of what needs to be read no more while the file system says the same of it.
    """
    for mark, name in _WIDE_BOMS:
        if data.startswith(mark):
            raise Unreadable(f"the file is {name}, which is no encoding of Python source; save it as UTF-8", 1, 1)
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _declared(body) or "utf-8"
    if bom and encoding != "utf-8":
        raise Unreadable(f"the byte order mark says UTF-8, the declaration {encoding}", 1, 1)
    text = _decoded(body, encoding)
    null = text.find("\0")
    if null >= 0:
        line, column = _position(text, null)
        raise Unreadable("the file holds a null byte", line, column)
    plain = state if encoding == "utf-8" and not bom and not speaks(text) else None
    return SourceText(path, text, digest_of(data), file, encoding, bom, state=plain)


def _decoded(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{body[error.start]:02x}" if error.start < len(body) else "the end"
        declared = "and no encoding is declared" if encoding == "utf-8" else "which the file declares"
        raise Unreadable(f"{byte} is not {encoding.upper()} {declared}", line) from None
    except (LookupError, ValueError) as error:
        # Codecs that are none of text (`hex`), or that the machine does not have.
        raise Unreadable(f"the declared encoding {encoding[:40]!r} cannot be read: {error}", 1) from None


def _declared(body: bytes) -> str | None:
    """The encoding that one of the first two lines declares, by the name that `utf-8` has here where it is that."""
    first = body.find(b"\n") + 1
    second = body.find(b"\n", first) if first else -1
    head = body if second < 0 else body[:second]
    if b"coding" not in head:
        return None  # as in nearly all files, and this is asked of every one
    for line in head.split(b"\n"):
        match = _COOKIE.match(line)
        if match is not None:
            name = match[1].decode("ascii", "replace")
            plain = name.lower().replace("_", "-")
            if plain in ("utf-8", "utf8") or plain.startswith("utf-8-"):
                return "utf-8"
            if _is_text(name):
                return name
            raise Unreadable(f"the declared encoding {name[:40]!r} is unknown", 1)
        if not _BLANK.match(line):
            return None
    return None


def _is_text(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        return False


def _position(text: str, offset: int) -> tuple[int, int]:
    before = _BREAK.split(text[:offset])
    return len(before), len(before[-1]) + 1
