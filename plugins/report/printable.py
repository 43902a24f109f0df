"""Text from outside, safe to print: no control characters, and no line breaks where one line is promised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...contracts.finding import Finding

# C0 and C1 controls (terminal escapes among them), bidirectional overrides, the two Unicode line ends, and halves of
# surrogate pairs, which no encoding can write.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LINES = re.compile(r"\r\n|\r|\n")
_NAMED = 5


def one_line(text: str) -> str:
    """`text` on one line: line breaks become spaces, other control characters their escapes (`\\x1b`)."""
    return _escape(_LINES.sub(" ", text)).strip()


def many_lines(text: str) -> str:
    """`text` with its line breaks kept (as `\\n`) and every other control character escaped."""
    return "\n".join(_escape(line) for line in _LINES.split(text.expandtabs(4)))


def _escape(text: str) -> str:
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text.replace("\t", " "))


def plural(count: int, noun: str) -> str:
    """`1 error`, `2 errors`, `1,024 errors`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def others(count: int) -> str:
    """`(1 other)`, `(12 others)`: the row of a table for what it does not name."""
    return f"({plural(count, 'other')})"


def counted_once(loops: Sequence[str]) -> str:
    """The sentence on loops of which a program does not tell the rounds."""
    more = f" and {len(loops) - _NAMED:,} more" if len(loops) > _NAMED else ""
    return f"Loops of unknown length, counted once: {', '.join(map(one_line, loops[:_NAMED]))}{more}"


def joined(parts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    items = list(parts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def place(finding: Finding) -> str:
    """Where the finding is: `path:line:column`, else its contract key, else the instruction, else nothing."""
    if finding.location is not None and finding.location.path:
        return one_line(str(finding.location))
    return one_line(finding.key or finding.instruction or "")


def in_cell(finding: Finding) -> str:
    """`cell 3, line 2: ` for a finding in a notebook, whose lines are not those of the file; else nothing."""
    place = finding.location
    return "" if place is None or place.cell is None else f"cell {place.cell}, line {place.line or 1}: "


def sentence(text: str) -> str:
    """One line that ends with a full stop."""
    line = one_line(text)
    return line if line.endswith((".", "!", "?", ":")) else f"{line}."


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]} [{len(text) - limit:,} more characters]"
