"""The matrix slot x parameter for people: a row for each slot, what is not covered by name, folded over layers."""

from __future__ import annotations

from rich.table import Table

from ...linters.checkpoint.coverage import STATES, Coverage, Row, State, over_layers
from ...linters.cut import in_a_line
from .columns import Columns
from .printable import one_line

SHOWN = 8
"""Names in one cell; JSON has all."""


def coverage_rows(coverage: Coverage) -> tuple[list[str], list[list[str]]]:
    """The headings and the cells. A state that no parameter of any slot is in has no column."""
    rows = (coverage.parameters, *coverage.slots)
    states: list[State] = [state for state in STATES if state != "covered" and any(row.of(state) for row in rows)]
    return ["slot", "covers", *states], [
        [
            one_line(row.name),
            f"{len(row.of('covered')):,} of {len(row.cells):,}",
            *(_names(row, state) for state in states),
        ]
        for row in rows
    ]


def coverage_table(coverage: Coverage) -> Table:
    """As text."""
    columns, rows = coverage_rows(coverage)
    table = Columns()
    for position, name in enumerate(columns):
        table.add_column(name, header_style="bold" if position == 0 else "dim", overflow="fold", no_wrap=position == 1)
    for row in rows:
        table.add_row(*row)
    return table


def _names(row: Row, state: State) -> str:
    named = [
        f"{one_line(path)} ({count:,})" if count > 1 else one_line(path) for path, count in over_layers(row.of(state))
    ]
    return in_a_line(named, SHOWN)
