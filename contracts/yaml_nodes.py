"""YAML text as a tree of plain values, each with the place where it was written.

The tree is built from ruamel.yaml's event stream with a stack of our own: no constructor runs, no tag is obeyed,
nesting cannot exhaust Python's stack, and an alias is counted in full each time it is used. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from .finding import Finding, Location
from .key import Key, format_key
from .problems import DUPLICATE_KEY, UNREADABLE
from .yaml_words import reworded

MAX_BYTES = 2 * 1024 * 1024
MAX_LINE = 100_000
MAX_DEPTH = 50
MAX_NODES = 50_000
MAX_INTEGER = 2**64 - 1

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Source:
    """A file: `path` on disk, `name` as findings print it."""

    path: Path
    name: str


@dataclass(slots=True, eq=False)
class Node:
    """A value. `place` is where it starts, `key` where its name stands (None in a list and at the root)."""

    value: Scalar | dict[str, Node] | list[Node]
    source: Source
    place: Location
    key: Location | None = None
    tag: str | None = None
    size: int = field(default=1)

    @property
    def location(self) -> Location:
        """Where a finding on this value points: its name, else itself."""
        return self.key or self.place

    def named(self, key: Location | None) -> Node:
        """The same value under another name; children are shared."""
        return Node(self.value, self.source, self.place, key, self.tag, self.size)


def plain(node: Node) -> Any:
    """The tree as dicts, lists and scalars. Depth is bounded by MAX_DEPTH."""
    if isinstance(node.value, dict):
        return {name: plain(child) for name, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


class Unreadable(Exception):
    """Reading cannot go on; carries the finding."""

    def __init__(self, location: Location, message: str, help: str | None = None) -> None:
        self.finding = UNREADABLE.at(location, message, subject=f"{location.path}: {message}", help=help)
        super().__init__(message)


def decode(data: bytes, source: Source) -> str:
    """The text of a file. Raises Unreadable where it is too long, has a line too long, or is not UTF-8.

    Lines are bounded because the scanner needs quadratic time for one long token, such as a tag.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(Location(source.name), f"the file has more than {MAX_BYTES:,} bytes")
    for number, line in enumerate(data.split(b"\n"), start=1):
        if len(line) > MAX_LINE:
            raise Unreadable(Location(source.name, number, 1), f"a line has more than {MAX_LINE:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        place = Location(source.name, line, column)
        raise Unreadable(place, f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8") from error


@dataclass(slots=True)
class _Open:
    """A collection that is still being read."""

    node: Node
    anchor: str | None
    name: str | None = None
    name_place: Location | None = None
    merges: list[Node] = field(default_factory=list)
    expects_name: bool = False
    merging: bool = False


class _Builder:
    def __init__(self, source: Source, strict: bool) -> None:
        self.source = source
        self.strict = strict
        self.findings: list[Finding] = []
        self.anchors: dict[str, Node | None] = {}
        self.open: list[_Open] = []
        self.root: Node | None = None
        self.nodes = 0

    def take(self, event: Event) -> None:
        if isinstance(event, (ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent)):
            self._start(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._end()
        elif isinstance(event, DocumentStartEvent) and self.root is not None:
            raise Unreadable(self._span(event), "a second YAML document starts here", "keep one document in a file")

    def _start(self, event: NodeEvent) -> None:
        span = self._span(event)
        parent = self.open[-1] if self.open else None
        if parent is not None and parent.expects_name and parent.name is None:
            self._name(parent, event, span)
            return
        if isinstance(event, AliasEvent):
            self._attach(self._alias(event, span))
            return
        tag = self._tag(event, span)
        if isinstance(event, ScalarEvent):
            node = Node(self._scalar(event, span), self.source, span, tag=tag)
            if event.anchor:
                self.anchors[event.anchor] = node
            self._count(1, span)
            self._attach(node)
            return
        if len(self.open) >= MAX_DEPTH:
            raise Unreadable(span, f"nested deeper than {MAX_DEPTH} levels")
        mapping = isinstance(event, MappingStartEvent)
        if event.anchor:
            self.anchors[event.anchor] = None
        self._count(1, span)
        node = Node({} if mapping else [], self.source, span, tag=tag)
        self.open.append(_Open(node, event.anchor, expects_name=mapping))

    def _name(self, parent: _Open, event: NodeEvent, span: Location) -> None:
        if not isinstance(event, ScalarEvent):
            help = "write the key as text; templates such as `{{ name }}` are not filled in"
            raise Unreadable(span, "a key must be a plain name", help)
        self._count(1, span)
        if _SURROGATE.search(str(event.value)):
            raise Unreadable(span, "half a surrogate pair is not a character")
        parent.name, parent.name_place = str(event.value), span
        parent.merging = parent.name == "<<" and event.style is None

    def _end(self) -> None:
        closed = self.open.pop()
        node = closed.node
        if closed.merges and isinstance(node.value, dict):
            for merged in closed.merges:
                for name, child in merged.value.items() if isinstance(merged.value, dict) else ():
                    if name not in node.value:
                        node.value[name] = child
                        node.size += child.size
        if closed.anchor:
            self.anchors[closed.anchor] = node
        self._attach(node)

    def _attach(self, node: Node) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        parent.node.size += node.size
        if isinstance(parent.node.value, list):
            parent.node.value.append(node)
            return
        assert isinstance(parent.node.value, dict) and parent.name is not None
        name, place = parent.name, parent.name_place
        parent.name = parent.name_place = None
        if parent.merging:
            parent.merges.extend(self._merge_sources(node, place or node.place))
            return
        if name in parent.node.value:
            first = parent.node.value[name].location
            self.findings.append(
                DUPLICATE_KEY.at(
                    place or node.place,
                    f"key `{name}` is already given in line {first.line}",
                    key=format_key((*self._path(), name)),
                    help="keep one of the two",
                )
            )
            return
        parent.node.value[name] = node.named(place)

    def _path(self) -> Key:
        """The key of the collection that is being read."""
        steps = (len(o.node.value) if isinstance(o.node.value, list) else o.name or "" for o in self.open[:-1])
        return tuple(steps)

    def _merge_sources(self, node: Node, place: Location) -> list[Node]:
        sources = node.value if isinstance(node.value, list) else [node]
        for source in sources:
            if not isinstance(source.value, dict):
                raise Unreadable(place, "`<<` merges a mapping or a list of mappings")
        return sources

    def _alias(self, event: AliasEvent, span: Location) -> Node:
        name = str(event.anchor)
        if name not in self.anchors:
            raise Unreadable(span, f"alias `*{name[:40]}` has no anchor before it")
        node = self.anchors[name]
        if node is None:
            raise Unreadable(span, f"alias `*{name[:40]}` stands inside its own anchor")
        self._count(node.size, span)
        if len(self.open) + _height(node) > MAX_DEPTH:
            raise Unreadable(span, f"nested deeper than {MAX_DEPTH} levels")
        return node

    def _count(self, more: int, span: Location) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise Unreadable(span, f"more than {MAX_NODES:,} values, aliases counted in full")

    def _tag(self, event: NodeEvent, span: Location) -> str | None:
        tag = getattr(event, "tag", None)
        if not isinstance(tag, str):
            return None
        if self.strict:
            written = tag.replace("tag:yaml.org,2002:", "!!", 1)
            raise Unreadable(span, f"tag `{written[:60]}` is not allowed", "a contract holds plain values only")
        return tag

    def _scalar(self, event: ScalarEvent, span: Location) -> Scalar:
        text = str(event.value)
        if _SURROGATE.search(text):
            raise Unreadable(span, "half a surrogate pair is not a character")
        if event.style is not None:
            return text
        try:
            value = resolve_scalar(text)
        except ValueError as error:
            raise Unreadable(span, f"the number has {len(text):,} digits: no size is that large") from error
        if self.strict and isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise Unreadable(span, f"the number {text[:40]} does not fit into 64 bits: no size is that large")
        return value

    def _span(self, event: Event) -> Location:
        start, end = event.start_mark, event.end_mark
        if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            end = start
        if isinstance(event, ScalarEvent) and event.style in ("|", ">"):
            end = start
        return Location(self.source.name, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _height(node: Node) -> int:
    """Levels of collections in a finished tree; those are at most MAX_DEPTH."""
    if isinstance(node.value, dict):
        return 1 + max((_height(child) for child in node.value.values()), default=0)
    if isinstance(node.value, list):
        return 1 + max((_height(child) for child in node.value), default=0)
    return 0


_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WORDS |= {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


def resolve_scalar(text: str) -> Scalar:
    """The value of a plain scalar by the YAML 1.2 core schema; dates stay text.

    Raises ValueError for an integer of more digits than Python converts.
    """
    if text in _WORDS or (text in (text.capitalize(), text.upper()) and text.lower() in _WORDS):
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        digits = text.replace("_", "")
        if digits[:2] in ("0x", "0o"):
            return int(digits[2:], 16 if digits[1] == "x" else 8)
        return int(digits)
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


def read_yaml(text: str, source: Source, *, strict: bool = True) -> tuple[Node | None, list[Finding]]:
    """The tree of one document (None for an empty one) and the findings that do not stop the reading (repeated keys).

    `strict` refuses tags, as in contracts; a project's own configuration may have them, they are then only noted.
    Raises Unreadable for everything else: syntax, a second document, aliases that blow up, nesting, odd keys.
    """
    builder = _Builder(source, strict)
    for event in _events(text, source):
        builder.take(event)
    return builder.root, builder.findings


Mark = tuple[int, int]


def scalar_spans(text: str, source: Source) -> list[tuple[Mark, Mark]]:
    """Start and end, as 1-based (line, column), of every quoted, plain and block scalar. Raises Unreadable."""
    spans = []
    for event in _events(text, source):
        if isinstance(event, ScalarEvent):
            start, end = event.start_mark, event.end_mark
            # The text of a block scalar starts in the line below its header, which may end in a comment.
            begin = (start.line + 2, 1) if event.style in ("|", ">") else (start.line + 1, start.column + 1)
            spans.append((begin, (end.line + 1, end.column + 1)))
    return spans


def _events(text: str, source: Source) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        place = Location(source.name, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        name = f"U+{error.character:04X}" if isinstance(error.character, int) else "of no name"
        raise Unreadable(place, f"the control character {name} is not allowed in YAML", "delete it") from error
    except MarkedYAMLError as error:
        mark, message, help = reworded(error)
        place = Location(source.name, mark.line + 1, mark.column + 1) if mark is not None else Location(source.name)
        raise Unreadable(place, f"not YAML: {message}", help) from error
    except (YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError) as error:
        # ruamel's scanner converts escapes and directives unchecked: hostile text ends it with any of these.
        raise Unreadable(Location(source.name), f"not YAML: {str(error)[:200] or type(error).__name__}") from error
