"""A diff for people at a terminal: the cause in the first line, the figures, causes with details, what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...hlo_tools.diff import Change
from ..pipeline.diff import Compared
from .columns import Columns
from .diff_words import effects, figures, headline, lines, moved, peak, value
from .printable import one_line, plural
from .text import to_text

SHOWN_CAUSES = 10
SHOWN_EFFECTS = 20
SHOWN_DETAILS = 5
# Layouts and the like are longer than the words beside them; JSON has them whole.
_WIDEST = 24


def text(compared: Compared, width: int, color: bool = False) -> str:
    """The diff, `width` columns wide."""
    diff = compared.diff
    first = Text(headline(compared), style="bold red" if compared.broken else "bold")
    parts: list[RenderableType] = [
        Text(f"A  {one_line(diff.a)}", style="dim"),
        Text(f"B  {one_line(diff.b)}", style="dim"),
    ]
    if diff.placement is not None and diff.placement.sentence:
        parts.append(Text(one_line(diff.placement.sentence)))
        parts += [Text(f"made with {one_line(said)}", style="dim") for said in diff.placement.made_by]
    for each in compared.broken:
        parts.append(Text(f"threshold {one_line(each.threshold)}: {one_line(each.said)}", style="red"))
    if compared.thresholds is not None and not compared.broken:
        parts.append(Text(f"kept: {one_line(compared.thresholds)}", style="green"))
    rows = figures(diff) if diff.changes else []
    if rows:
        table = _table("Figure", ("A", "B", "change"), "right")
        for row in rows:
            table.add_row(*row)
        parts += ["", table]
    causes, following = diff.roots, effects(diff)
    for number, change in enumerate(causes[:SHOWN_CAUSES], 1):
        parts += ["", *_cause(number, change)]
    parts += _left(len(causes) - SHOWN_CAUSES, "cause")
    buffers = peak(diff)[:SHOWN_DETAILS]
    if buffers:
        parts += ["", Text("At the peak", style="bold"), *(Padding(Text(one_line(b)), (0, 0, 0, 3)) for b in buffers)]
    if following:
        table = _table("What follows", ("A", "B"), "left")
        for change in following[:SHOWN_EFFECTS]:
            table.add_row(one_line(change.subject or change.what), *(value(change, side) for side in change.sides))
        parts += ["", table, *_left(len(following) - SHOWN_EFFECTS, "consequence")]
    parts += [Text(f"note: {one_line(note)}", style="yellow") for note in diff.notes]
    return to_text(parts, width, color, first)


def _cause(number: int, change: Change) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(f"{number}. {change.kind}: {one_line(change.what)}", style="bold")]
    where = lines(change)
    inner = [
        f"{moved(change)}{f', {where}' if ' -> ' in where else ''}",
        *map(one_line, change.details[:SHOWN_DETAILS]),
    ]
    parts += [Padding(Text(line), (0, 0, 0, 3)) for line in inner]
    return parts


def _left(count: int, noun: str) -> list[RenderableType]:
    return [Text(f"{plural(count, f'more {noun}')}; --format json has all", style="dim")] if count > 0 else []


def _table(first: str, more: Sequence[str], side: Literal["left", "right"]) -> Table:
    """A borderless table: a column of words that may be folded, and columns of figures that are not."""
    made = Columns()
    made.add_column(first, overflow="fold", header_style="bold")
    for name in more:
        made.add_column(name, justify=side, no_wrap=True, overflow="ellipsis", max_width=_WIDEST)
    return made
