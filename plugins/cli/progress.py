"""Progress on standard error: a spinner with the current phase on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click


class Progress(Protocol):
    """Called with one line for each thing that begins."""

    def __call__(self, message: str, /) -> None: ...


@contextmanager
def progress(lines: bool = True) -> Iterator[Progress]:
    """A function to call with each phase; what it shows is gone from a terminal when the block ends.

    Without `lines` only a terminal shows it: for work of seconds."""
    from ..report.printable import one_line
    from .output import folded

    if not sys.stderr.isatty():
        if not lines:
            yield lambda message: None
            return
        yield lambda message: click.echo(folded(f"contract-lint: {one_line(message)}", "  "), err=True)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False))
    columns = (SpinnerColumn(), text, TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")
        yield lambda message: bar.reset(task, description=one_line(message))
