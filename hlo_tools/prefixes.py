"""What stands before each line of a log: time, process, level, colours, whatever the logger; and texts without it."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[\d;]{0,20}m")
_COMPILER = re.compile(r"^[^\n]{1,200}?\w\.(?:cc|h|py):\d{1,6}\] ?", re.MULTILINE)
_LONGEST = 200


def without_prefixes(text: str, begins: str) -> str:
    """The text with its lines from where they began.

    The prefix is learnt from the first line on which `begins`, a regular expression, matches behind something else:
    other lines have the same one with other numbers in it. Lines without it, and the number of lines, stay as they are.
    """
    text = _COLOUR.sub("", text)
    text = _COMPILER.sub("", text)
    learnt = re.search(
        rf"^(\S[^\n]{{0,{_LONGEST}}}?)(?:(?<=\W)|(?=\s))([ \t]{{0,{_LONGEST}}})(?={begins})",
        text,
        re.MULTILINE | re.ASCII,
    )
    if learnt is None:
        return text
    same = re.sub(r"\d+", r"\\d+", re.escape(learnt[1]))
    return re.sub(rf"^{same}[ \t]{{0,{len(learnt[2])}}}", "", text, flags=re.MULTILINE | re.ASCII)
