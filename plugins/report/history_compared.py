"""Several records side by side, for people at a terminal: numbered, however many they are and however narrow it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ...contracts.record import flat
from ..pipeline.record.history import Compared
from .columns import Columns
from .printable import one_line, plural
from .record_text import SHOWN, number, short, values
from .sections import folded
from .text import to_text
from .wrap import sentences

_GAP = 2
"""Blanks between two columns."""
_NAMES = 3
"""The names of figures take at most this part of the width."""


def compared(found: Compared, width: int, color: bool = False) -> str:
    """Which record has which number; the keys that differ; the figures, with how much each differs from the first."""
    names = [record.name for record in found.records]
    differing = [(key, each) for key, each in found.config if not (key == "name" and list(each) == names)]
    sections = folded(differing, [flat(record.config) for record in found.records])
    config = [(key, values(each)) for key, each in sections]
    legend = Columns()
    ran = any(each is not None for each in found.steps)
    for heading in ("", "record", "made (UTC)", *(("steps",) * ran)):
        legend.add_column(heading, no_wrap=True)
    legend.add_column("name", overflow="fold")
    for count, record in enumerate(found.records, 1):
        made = record.created[:16].replace("T", " ")
        steps = (found.steps[count - 1] or "-",) * ran
        legend.add_row(str(count), short(record.digest), made, *steps, one_line(record.name))
    parts: list[RenderableType] = ["", legend, *_configured(config[:SHOWN], len(names), width), *_left(len(config))]
    parts += [*_figures(found.figures[:SHOWN], len(names), width), *_left(len(found.figures))]
    first = f"{plural(len(names), 'record')}: {plural(len(differing), 'key')} of the configuration "
    first += f"differ{'s' * (len(differing) == 1)}"
    if found.figures:
        first += "; of figures the change from record 1 stands beside"
    return to_text(parts, width, color, Text(sentences(f"{first}.", width), no_wrap=True))


def _left(count: int) -> Iterator[RenderableType]:
    if count > SHOWN:
        yield Text(f"and {count - SHOWN:,} more: --format json has all", style="dim")


def _configured(rows: Sequence[tuple[str, Sequence[str]]], records: int, width: int) -> Iterator[RenderableType]:
    """A column a record where that fits, else a row for each value, with the records that have it."""
    if not rows:
        return
    cells = [(one_line(key), *texts) for key, texts in rows]
    numbers = [str(count) for count in range(1, records + 1)]
    table = Columns()
    table.add_column("key", overflow="fold")
    if sum(_widest(column) + _GAP for column in zip(("key", *numbers), *cells, strict=True)) - _GAP <= width:
        for heading in numbers:
            table.add_column(heading)
        for row in cells:
            table.add_row(*row)
    else:
        table.add_column("value", overflow="fold")
        table.add_column("records", overflow="fold")
        for key, *texts in cells:
            for count, text in enumerate(dict.fromkeys(texts)):
                having = [number for number, each in zip(numbers, texts, strict=True) if each == text]
                table.add_row("" if count else key, text, ", ".join(having))
    yield from ("", table)


def _figures(rows: Sequence[tuple[str, Sequence[float | None]]], records: int, width: int) -> Iterator[RenderableType]:
    """As many records beside each other as fit, the next below them."""
    if not rows:
        return
    names = [one_line(name) for name, _ in rows]
    columns = [[_beside(each[at], each[0]) for _, each in rows] for at in range(records)]
    room = width - min(_widest(("metric", *names)), width // _NAMES)
    at = 0
    while at < records:
        end, used = at, 0
        while end < records and (end == at or used + _GAP + _widest(columns[end]) <= room):
            used += _GAP + _widest(columns[end])
            end += 1
        table = Columns()
        table.add_column("metric", overflow="fold")
        for count in range(at, end):
            table.add_column(str(count + 1), justify="right", no_wrap=True)
        for count, name in enumerate(names):
            table.add_row(name, *(column[count] for column in columns[at:end]))
        yield from ("", table)
        at = end


def _widest(texts: Sequence[str]) -> int:
    return max(map(cell_len, texts))


def _beside(found: float | None, first: float | None) -> str:
    if found is None or first is None or not first or found == first:
        return number(found)
    return f"{number(found)} ({100 * (found - first) / abs(first):+.2f} %)"
