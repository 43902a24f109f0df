"""The terms of an objective as they were measured, in text and markdown."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType
from rich.text import Text

from ...linters.semantics.wording import digits
from ..pipeline.tables import MeaningTable, TermRow
from .columns import Columns
from .printable import one_line

MARKS = {"ok": "green", "differs": "bold red", "unexplained": "bold red", "hidden": "dim"}
COLUMNS = ("N", "devices", "weight", "divided by", "ratio", "")
LOSS_COLUMNS = ("N", "devices", "found", "promised", "equal digits")


def meaning_text(table: MeaningTable) -> list[RenderableType]:
    """A line for each term and number of microbatches, and the loss below; a term is named on its first line."""
    terms = _columns(f"Terms in {table.precision}", COLUMNS, left=("divided by", ""))
    last = None
    for row in table.terms:
        if last is not None and row.term != last:
            terms.add_section()
        name, *cells, verdict = _cells(row, one_line, first=row.term != last)
        terms.add_row(name, *cells, Text(verdict, style=MARKS[verdict]))
        last = row.term
    losses = _columns("Loss", LOSS_COLUMNS)
    for cells in loss_rows(table):
        losses.add_row("", *cells)
    return [terms, "", losses]


def term_rows(table: MeaningTable, escape: Callable[[str], str]) -> list[tuple[str, ...]]:
    """The same lines for a table in which every line stands for itself."""
    return [_cells(row, escape, first=True) for row in table.terms]


def loss_rows(table: MeaningTable) -> list[tuple[str, ...]]:
    return [
        (
            str(row.microbatches),
            str(row.devices),
            f"{row.found:.6g}",
            f"{row.promised:.6g}",
            str(row.equal_digits),
        )
        for row in table.losses
    ]


def _cells(row: TermRow, escape: Callable[[str], str], first: bool) -> tuple[str, ...]:
    named = (escape(row.term), f"{row.weight:g}", escape(row.normaliser)) if first else ("", "", "")
    name, weight, normaliser = named
    ratio = "-" if row.ratio is None else digits(row.ratio)
    return name, str(row.microbatches), str(row.devices), weight, normaliser, ratio, row.verdict


def _columns(title: str, columns: tuple[str, ...], left: tuple[str, ...] = ()) -> Columns:
    table = Columns()
    table.add_column(title, header_style="bold", overflow="fold")
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", overflow="fold")
    return table
