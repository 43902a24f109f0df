"""Texts inside other texts: a string with its escapes, records of JSON, boxes, pages, lines folded into one.

People paste what a log holds, and a log may hold a message as one string. What is read here is the message.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

_MARK = re.compile(
    r"[Oo]ut of (?:host )?memory |ailed to allocate |That was not possible|Can't reduce memory use|Peak buffers:|"
    r"\d{1,4}\. Size: |Buffer \d{1,4}:|Memory Space: \w|HloModule "
)
# The first words of lines that such a message is made of, behind an escaped line feed.
_ESCAPED = re.compile(
    r"(?<!\\)\\++n(?:\\++t|[ \t])*+(?:\d{1,4}\. Size:|Buffer \d{1,4}:|"
    r"(?:Total|Program) \w{1,20} (?:usage|requirement) |BufferAssignment |Peak buffers:|Operator: |Shape: |"
    r"Memory Space: |Total bytes: |ENTRY |ROOT )"
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)")
_MEANT = {"n": "\n", "t": "\t", "r": ""}
_LITERAL = re.compile(r"""\\.|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""")
_ENTITY = re.compile(r"&(?:quot|nbsp|#34|#x22);")
_SPACE = re.compile("[\u00a0\u2007\u202f]")
_BORDER = re.compile(r"\s([|#*!\u2500-\u259f]{1,3})\s*\Z")
_FOLDED = re.compile(r"\bSize: \S{1,20}[ \t]++(?:Operator|Shape|XLA [Ll]abel|Entry Parameter Subshape): ")
_FOLD = re.compile(
    r"(?<![ \t])(?<!\d\.)[ \t]++(?=\d{1,4}\. Size: |Buffer \d{1,4}:|(?:Size|Operator|Shape|Unpadded size|XLA [Ll]abel|"
    r"Allocation type|Entry Parameter Subshape|Extra memory due to padding): |={8})"
)
_DEEPEST = 4
_LEVELS = 3
"""How often a string may have been made a string again."""


def unpacked(text: str) -> str:
    """The message in a text that holds it in another form; the text itself where nothing is to undo."""
    if _ENTITY.search(text):
        text = html.unescape(text)
    text = _records(_SPACE.sub(" ", text))
    for _ in range(_LEVELS):
        if _ESCAPED.search(text) is None:
            break
        text = "\n".join(map(_unescaped, text.split("\n")))
    return _unfolded(_without_border(text))


def _records(text: str) -> str:
    """What the records of a log in JSON say: one a line, or one document. The key is that under which a message is."""
    whole = _parsed(text) if text.lstrip()[:1] in ("{", "[") else None
    if whole is not None:
        records = [_strings(each) for each in (whole if isinstance(whole, list) else [whole])]
        key = _key(records)
        return text if key is None else "\n".join(record.get(key, "").removesuffix("\n") for record in records)
    lines = text.split("\n")
    parsed = [_strings(_parsed(line)) if line.lstrip().startswith("{") else None for line in lines]
    key = _key([record for record in parsed if record])
    if key is None:
        return text
    # A record that is cut has its message as far as it goes.
    cut = re.compile(rf'"{re.escape(key.rpartition("/")[2])}": ?"((?:[^"\\]|\\.)*+)')
    found = []
    for line, record in zip(lines, parsed, strict=True):
        if record:
            found.append(record.get(key, "").removesuffix("\n"))
        else:
            begun = cut.search(line) if record is not None else None
            found.append(_meant(begun[1]) if begun else line)
    return "\n".join(found)


def _key(records: list[dict[str, str]]) -> str | None:
    return next((key for record in records for key, said in record.items() if _MARK.search(said)), None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _strings(value: Any) -> dict[str, str]:
    """The strings of a record by their path of keys."""
    found: dict[str, str] = {}
    left: list[tuple[str, Any, int]] = [("", value, 0)]
    while left:
        path, each, depth = left.pop()
        if isinstance(each, str):
            found[path] = each
        elif isinstance(each, dict) and depth < _DEEPEST:
            left += [(f"{path}/{key}", inner, depth + 1) for key, inner in each.items()]
    return found


def _unescaped(line: str) -> str:
    """A line that holds a message as a string, as the lines of that message; what stands around it by itself."""
    match = _ESCAPED.search(line)
    if match is None:
        return line
    end = 0
    for literal in _LITERAL.finditer(line):
        if literal.start() > match.start():
            break
        if literal.end() > match.start():
            if literal[0][0] == "\\":
                break
            around = line[: literal.start()], line[literal.end() :]
            return "\n".join((around[0], _meant(literal[0][1:-1]), around[1]))
        end = literal.end() if literal[0][0] != "\\" else end
    # Its end is cut off, or an apostrophe before it hides where it begins.
    rest = line[end:].rstrip(" \t\r,)]}")
    body = rest[:-1] if rest.endswith(('"', "'")) else line[end:]
    return f"{line[:end]}\n{_meant(body)}"


def _meant(body: str) -> str:
    return _ESCAPE.sub(_character, body)


def _character(match: re.Match[str]) -> str:
    said = match[1]
    if len(said) == 1:
        return _MEANT.get(said, said)
    code = int(said[1:], 16)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _without_border(text: str) -> str:
    """The lines of a box without what closes each of them, learnt from a line of the message."""
    lines = text.split("\n")
    borders = (_BORDER.search(line[-_LONGEST_BORDER:]) for line in lines if _MARK.search(line))
    border = next((found[1] for found in borders if found is not None), None)
    if border is None:
        return text
    return "\n".join(
        kept.removesuffix(border).rstrip() if (kept := line.rstrip()).endswith(border) else line for line in lines
    )


def _unfolded(text: str) -> str:
    """Entries of a report whose lines were joined by spaces, in lines again."""
    if _FOLDED.search(text) is None:
        return text
    return "\n".join(_FOLD.sub("\n", line) if _FOLDED.search(line) else line for line in text.split("\n"))


_LONGEST_BORDER = 240
