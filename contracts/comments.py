"""The comments of a YAML text, told apart from a `#` inside a quoted or block scalar."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .yaml_nodes import Source, Unreadable, scalar_spans


def yaml_comments(text: str) -> Iterable[tuple[int, int, str]]:
    """Every comment as (line, column, text from `#` on), 1-based; none where the text is not YAML."""
    try:
        spans = scalar_spans(text, Source(Path(), ""))
    except Unreadable:
        return
    multiline = [(start, end) for start, end in spans if start[0] != end[0]]
    on_line: dict[int, list[tuple[int, int]]] = {}
    for start, end in spans:
        if start[0] == end[0]:
            on_line.setdefault(start[0], []).append((start[1], end[1]))
    following = iter(multiline)
    current = next(following, None)
    for number, line in enumerate(text.split("\n"), start=1):
        while current is not None and current[1][0] < number:
            current = next(following, None)
        begin = 0
        if current is not None and current[0][0] < number:
            if number < current[1][0]:
                continue
            begin = current[1][1] - 1
        position = _comment(line, begin, on_line.get(number, []))
        if position is None or (current is not None and current[0] <= (number, position + 1) < current[1]):
            continue
        yield number, position + 1, line[position:].rstrip("\r")


def _comment(line: str, begin: int, scalars: list[tuple[int, int]]) -> int | None:
    """Where the comment of a line starts: the first `#` after a space (or at the start) outside its scalars."""
    spans = iter(sorted(scalars))
    span = next(spans, None)
    position = line.find("#", begin)
    while position >= 0:
        while span is not None and span[1] <= position + 1:
            span = next(spans, None)
        inside = span is not None and span[0] <= position + 1 < span[1]
        if not inside and (position == 0 or line[position - 1] in " \t"):
            return position
        position = line.find("#", position + 1)
    return None
