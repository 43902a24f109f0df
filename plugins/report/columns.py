"""A borderless table whose cells break at blanks, else behind the marks in a name, never inside of a word that fits."""

from __future__ import annotations

import re
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_PIECE = re.compile(r"\{[\d,]*\}|\{?[^/.,:_\-{]*[/.,:_\-]+(?:\d+$)?|\{?[^/.,:_\-{]+|\{")
"""What stays together of `all-reduce.16`, `/src/model.py:69` or `bf16[8,128]{1,0}`: a number at the end with what it is
the number of, a layout with itself."""


class Columns(Table):
    """A table with a line below its heading and nothing else."""

    def __init__(self, **options: Any) -> None:
        plain = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0), "show_edge": False}
        super().__init__(**{**plain, "header_style": "dim", **options})

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*map(_cell, cells), **options)


class Cell:
    """Text that knows where it may be broken."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.text.copy()
        if not options.no_wrap:
            shown.plain = in_pieces(shown.plain, options.max_width)
        yield shown

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = self.text.plain.split("\n")
        pieces = [piece for word in self.text.plain.split() for piece in _PIECE.findall(word)]
        widest = max(map(cell_len, lines))
        return Measurement(max(map(cell_len, pieces), default=0), widest)


def in_pieces(text: str, width: int) -> str:
    """`text` with line breaks in the words that are wider than `width`, behind a mark; a wider piece stays whole."""
    return re.sub(r"\S+", lambda word: _broken(word[0], width), text)


def _broken(word: str, width: int) -> str:
    if cell_len(word) <= width:
        return word
    lines = [""]
    for piece in _PIECE.findall(word):
        if lines[-1] and cell_len(lines[-1]) + cell_len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def _cell(cell: RenderableType | None) -> RenderableType | None:
    """A cell that breaks so; one of several styles stays what it is, as its parts are counted by characters."""
    text = Text(cell) if isinstance(cell, str) else cell
    return Cell(text) if isinstance(text, Text) and not text.spans else cell
