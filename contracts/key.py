"""How a place in a contract is spelled: `collectives.allow[0].axes`, a tuple of names and list positions in code."""

from __future__ import annotations

import json
import re

Key = tuple[str | int, ...]

_PLAIN = re.compile(r"[^\s.\[\]\"']+")
_PART = re.compile(r"""\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^\s.\[\]"']+)""")


def format_key(key: Key) -> str:
    """The spelling used in findings; a name with a dot, bracket, quote or space is quoted: `step["a.b"].args`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part)}]"
    return text


def parse_key(text: str) -> Key:
    """The tuple of a spelled key. Raises ValueError where the spelling is not one of `format_key`."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None or (position == 0 and text[0] == "."):
            raise ValueError(f"not a key: {text!r}")
        index, quoted, plain = match.groups()
        if index is not None:
            parts.append(int(index))
        else:
            parts.append(plain if quoted is None else json.loads(quoted))
        position = match.end()
    return tuple(parts)
