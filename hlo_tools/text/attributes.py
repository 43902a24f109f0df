"""What follows an instruction's opcode, read when somebody asks: operand lists, `key=value` pairs, strings, numbers.

All scans go forward once and keep their own stack, so deep nesting and very long lines cost linear time.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...contracts.errors import ContractLintError

# Attributes that name computations, in the order XLA lists them (a while: body before condition).
CALLED_KEYS = (
    "calls",
    "to_apply",
    "body",
    "condition",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
    "select",
    "scatter",
    "comparator",
)

# Stands for the shape of an instruction whose text gives none; it is inferred when asked for.
UNKNOWN_SHAPE = "unknown[]"

_MAX_DIGITS = 19
_MAX_DEPTH = 10_000
_STRING = r'"(?:[^"\\]|\\.)*+"'
_QUOTED = re.compile(_STRING, re.DOTALL)
_APOSTROPHE = re.compile(r"'[^'\n]*+'")
_BRACKET = re.compile(r"""["'{}()\[\]]""")
_BRACKET_OR_COMMA = re.compile(r"""["'{}()\[\],]""")
_NESTING = re.compile(r"""[({\["']""")
_FLAT_OPERANDS = re.compile(r"""[^()"'{}]*+\)""")
_KEY = re.compile(r"\s*,?\s*([A-Za-z_][\w.\-]*)=")
MESH_DEVICES = re.compile(r"\s*,\s*device_ids=\(")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_NAMED_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_PAIR = re.compile(rf'([A-Za-z_][\w.\-]*)=(?:({_STRING})|(\{{[^{{}}"]*+\}})|([^\s,}}]*+))', re.DOTALL)
_CLOSERS = {"{": "}", "(": ")", "[": "]"}


def _nested(levels: int) -> str:
    group = rf'\{{(?:[^{{}}"\']++|{_STRING})*+\}}'
    for _ in range(levels - 1):
        group = rf'\{{(?:[^{{}}"\']++|{_STRING}|{group})*+\}}'
    return group


# The common values in one match: a quoted string, braces up to four deep, or a plain word.
_ATTRIBUTE = re.compile(
    rf",\s*([A-Za-z_][\w.\-]*)=({_STRING}|{_nested(4)}|[^,{{}}\[\]()\"'\s]++)(?=\s*(?:,|\Z))", re.DOTALL
)


def integer(text: str) -> int:
    """A decimal integer of at most 64 bits; ContractLintError otherwise (also for digit strings made to hurt)."""
    number = text.strip()
    digits = number.removeprefix("-")
    if len(digits) > _MAX_DIGITS or not digits.isdecimal() or not digits.isascii():
        raise ContractLintError(f"not an integer of 64 bits: {number[:40]!r}")
    return int(number)


def closing(text: str, at: int, stop: int) -> int:
    """The offset just after the bracket that closes the one at `at`. Brackets inside strings do not count.

    Raises ContractLintError where it stays open before `stop`, or where another kind closes first.
    """
    expected: list[str] = []
    position = at
    while True:
        match = _BRACKET.search(text, position, stop)
        if match is None:
            raise ContractLintError(f"{text[at]!r} is never closed: {text[at : at + 40]!r}")
        mark, position = match[0], match.end()
        if mark in _CLOSERS:
            if len(expected) >= _MAX_DEPTH:
                raise ContractLintError(f"brackets nested more than {_MAX_DEPTH} deep: {text[at : at + 40]!r}")
            expected.append(_CLOSERS[mark])
        elif mark in "\"'":
            position = skip_string(text, match.start(), stop)
        else:
            if not expected or expected.pop() != mark:
                raise ContractLintError(f"{mark!r} closes nothing: {text[max(at, position - 40) : position]!r}")
            if not expected:
                return position


def skip_string(text: str, at: int, stop: int) -> int:
    """The offset after the string that begins at `at`. A lone apostrophe is an ordinary character."""
    if text[at] == "'":
        match = _APOSTROPHE.match(text, at, stop)
        return match.end() if match else at + 1
    match = _QUOTED.match(text, at, stop)
    if match is None:
        raise ContractLintError(f"a string is never closed: {text[at : at + 40]!r}")
    return match.end()


def operands_end(text: str, start: int, stop: int) -> int:
    """The offset of the `)` that ends the operand list whose first character is at `start`."""
    match = _FLAT_OPERANDS.match(text, start, stop)
    if match:
        return match.end() - 1
    return closing(text, start - 1, stop) - 1


def value_end(text: str, at: int, stop: int) -> int:
    """Where an attribute's value ends: at the next comma outside brackets and strings, or at `stop`."""
    while True:
        match = _BRACKET_OR_COMMA.search(text, at, stop)
        if match is None:
            return stop
        mark = match[0]
        if mark == ",":
            return match.start()
        if mark in _CLOSERS:
            at = closing(text, match.start(), stop)
        elif mark in "\"'":
            at = skip_string(text, match.start(), stop)
        else:
            return match.start()


def read_attributes(text: str, start: int, stop: int) -> dict[str, str]:
    """`, key=value, key=value` as a dict of the values as printed. Text that is no attribute is left out."""
    found: dict[str, str] = {}
    at = start
    while at < stop:
        match = _ATTRIBUTE.match(text, at, stop)
        if match and not match[2].startswith("mesh"):
            found[match[1]] = match[2]
            at = match.end()
            continue
        key = _KEY.match(text, at, stop)
        if key is None:
            after = value_end(text, at + 1, stop)
            at = max(after, at + 1)
            continue
        end = value_end(text, key.end(), stop)
        if MESH_DEVICES.match(text, end, stop) and text.startswith("mesh", key.end()):
            # The one value with a comma outside brackets: mesh['a'=2], device_ids=([2]T(0)) {'a'}
            end = value_end(text, end + 1, stop)
        found[key[1]] = text[key.end() : end].strip()
        at = max(end, key.end())
    return found


def unquote(text: str) -> str:
    """The value of a printed string: quotes off, C escapes undone. Text without quotes is returned as it is."""
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return text
    body = text[1:-1]
    return _ESCAPE.sub(_unescape, body) if "\\" in body else body


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _NAMED_ESCAPES.get(code, code)


def read_pairs(value: str) -> dict[str, str]:
    """The pairs inside `{op_name="x" source_line=3}` or `{a="b",c="d"}`, strings unquoted."""
    pairs = {}
    for key, string, group, word in _PAIR.findall(value):
        pairs[key] = unquote(string) if string else (group or word)
    return pairs


def read_frontend_attributes(value: str) -> dict[str, str]:
    """`{key="value",key={json}}`: strings unquoted, JSON values as printed."""
    inner = value.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return {}
    return {key: unquote(item) for key, item in read_attributes(inner, 1, len(inner) - 1).items()}


def read_backend_config(value: str) -> dict[str, Any] | str:
    """A JSON object as a dict; anything else (kernel payloads, other syntaxes) as the unquoted string."""
    text = unquote(value)
    if not text.lstrip().startswith("{"):
        return text
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict) else text


def split_list(text: str) -> list[str]:
    """`a, /*index=1*/b` at its outer commas, without comments and blanks; an empty text gives no items."""
    if "/*" in text:
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    if _NESTING.search(text) is None:
        return [item.strip() for item in text.split(",")] if text.strip() else []
    items, at, stop = [], 0, len(text)
    while at <= stop:
        end = value_end(text, at, stop)
        if end < stop and text[end] != ",":
            raise ContractLintError(f"{text[end]!r} closes nothing: {text[max(0, end - 40) : end + 1]!r}")
        items.append(text[at:end].strip())
        at = end + 1
    return items if items != [""] else []
