"""JSON text as a tree of plain values, each with the place where it was written.

The same nodes as a contract's, made by a stack of our own: nesting cannot exhaust Python's, a key that stands twice is
an error and not the last one's luck, and time is linear in the text.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from pathlib import Path
from typing import NoReturn

from .errors import ContractLintError
from .finding import Location
from .yaml_nodes import MAX_DEPTH, Node, Scalar, Source

MAX_BYTES = 64 * 1024 * 1024
MAX_NODES = 400_000
MAX_DIGITS = 20
_TOKEN = re.compile(
    r'"(?P<text>(?:[^"\\\x00-\x1f]|\\.)*)"|(?P<mark>[{}\[\],:])'
    r"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(?P<word>true|false|null)"
)
_BLANK = re.compile(r"[ \t\r\n]*")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(path: str | Path, shown: str | None = None, *, most: int = MAX_BYTES) -> Node:
    """The value of a JSON file of at most `most` bytes.

    Raises ContractLintError, with line and column, for a file that cannot be read, is too large or is no JSON.
    """
    name = shown or Path(path).as_posix()
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(name)) from error
    if len(data) > most:
        raise ContractLintError(f"has more than {most:,} bytes", Location(name))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ContractLintError(f"byte 0x{data[error.start]:02x} is not UTF-8", Location(name, line)) from error
    return parse_json(text, Source(Path(path), name))


def parse_json(text: str, source: Source, first_line: int = 1) -> Node:
    """The value of a JSON text. Raises ContractLintError with line and column."""
    return _Parser(text, source, first_line).value()


class _Parser:
    def __init__(self, text: str, source: Source, first_line: int) -> None:
        self.text, self.source, self.first_line = text, source, first_line
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.at = self.nodes = 0

    def value(self) -> Node:
        """The whole text as one value."""
        holders: list[Node] = []
        name: tuple[str, Location] | None = None
        wanted = "value"
        while True:
            kind, token, at = self._next()
            is_mark = kind == "mark"
            if wanted == "more":
                if is_mark and token == ",":
                    wanted = "key" if isinstance(holders[-1].value, dict) else "value"
                    continue
                node = self._closed(holders, token if is_mark else "", at)
            elif wanted in ("key", "key or end"):
                if wanted == "key" or not is_mark:
                    name, wanted = self._key(holders[-1], kind, token, at), "value"
                    continue
                node = self._closed(holders, token, at)
            elif wanted == "value or end" and is_mark and token == "]":
                node = holders.pop()
            else:
                node = self._node(kind, token, at)
                if holders:
                    _attach(holders[-1], node, name)
                if is_mark:
                    if len(holders) >= MAX_DEPTH:
                        self._fail(f"nested deeper than {MAX_DEPTH} levels", at)
                    holders.append(node)
                    wanted = "key or end" if token == "{" else "value or end"
                    continue
            if not holders:
                break
            wanted = "more"
        rest = _BLANK.match(self.text, self.at)
        if rest is not None and rest.end() != len(self.text):
            self._fail("a second value starts here", rest.end())
        return node

    def _closed(self, holders: list[Node], token: str, at: int) -> Node:
        holder = holders[-1]
        end = "}" if isinstance(holder.value, dict) else "]"
        if token != end:
            self._fail(f"expected `{end}` or `,`: what is open began in line {holder.place.line}", at)
        return holders.pop()

    def _key(self, holder: Node, kind: str, token: str, at: int) -> tuple[str, Location]:
        assert isinstance(holder.value, dict)
        if kind != "text":
            self._fail(f"expected a key in quotes, found `{token[:40]}`", at)
        name = self._text(token, at)
        if name in holder.value:
            first = holder.value[name].location
            self._fail(f"key `{name[:80]}` is already given in line {first.line}", at, "keep one of the two")
        colon = self._next()
        if colon[:2] != ("mark", ":"):
            self._fail("expected `:` behind a key", colon[2])
        return name, self._place(at)

    def _node(self, kind: str, token: str, at: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self._fail(f"more than {MAX_NODES:,} values", at)
        if kind == "mark":
            if token not in "{[":
                self._fail(f"expected a value, found `{token}`", at)
            return Node({} if token == "{" else [], self.source, self._place(at))
        if kind == "text":
            return Node(self._text(token, at), self.source, self._place(at))
        return Node(_WORDS[token] if kind == "word" else self._number(token, at), self.source, self._place(at))

    def _number(self, token: str, at: int) -> int | float:
        digits = token.lstrip("-")
        if digits[0] == "0" and digits[1:2].isdigit():
            self._fail(f"a number begins with 0: {token[:40]}", at)
        if digits.isdigit():
            if len(digits) > MAX_DIGITS:
                self._fail(f"the number has {len(digits):,} digits", at)
            return int(token)
        value = float(token)
        if not math.isfinite(value):
            self._fail(f"the number {token[:40]} is too large", at)
        return value

    def _text(self, token: str, at: int) -> str:
        try:
            text = json.loads(f'"{token}"') if "\\" in token else token
        except ValueError as error:
            self._fail(f"a text has an escape that JSON does not know: {str(error)[:80]}", at)
        if _SURROGATE.search(text):
            self._fail("half a surrogate pair is not a character", at)
        return text

    def _next(self) -> tuple[str, str, int]:
        """Kind, text and offset of the next token; raises at the end of the text."""
        at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing too
        match = _TOKEN.match(self.text, at)
        if match is None:
            rest = self.text[at : at + 20]
            self._fail(f"expected JSON, found `{rest.splitlines()[0]}`" if rest else "the text ends too early", at)
        self.at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind], at

    def _place(self, at: int) -> Location:
        line = bisect_left(self.ends, at)
        return Location(self.source.name, self.first_line + line, at - (self.ends[line - 1] if line else -1))

    def _fail(self, message: str, at: int, help: str | None = None) -> NoReturn:
        raise ContractLintError(message, self._place(at), help)


def _attach(holder: Node, node: Node, name: tuple[str, Location] | None) -> None:
    if isinstance(holder.value, list):
        holder.value.append(node)
    elif isinstance(holder.value, dict) and name is not None:
        node.key = name[1]
        holder.value[name[0]] = node
