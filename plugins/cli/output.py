"""Where a report goes: to the terminal at its width and colours, to a pipe as plain text, or to a file."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...linters.rewrite import rewrite
from ..pipeline.report import Report
from ..report.formats import render
from .color import colours
from .options import VERBOSE

if TYPE_CHECKING:
    from ..pipeline.sweep import Swept

NARROWEST, WIDEST = 60, 140
UNWRITTEN = 2


def emit(report: Report, form: str, output: str | None) -> int:
    """Write the report in format `form` and return the exit code that follows from it.

    A file named by `--output` gets the report; the verdict then goes to standard error, as what was not looked at does.
    """
    width, color = (None, False) if output else terminal()
    text = render(_verbose(report), form, width, color)
    write(text, output)
    if output:
        from ..report.verdict import headline

        click.echo(folded(headline(report)), err=True)
    for each in report.notes:
        note(each)
    return report.exit_code


def emit_check(
    report: Report, swept: Swept, form: str, output: str | None, *, diff: bool = False, text: bool = False
) -> int:
    """`emit` for a run that may have fixed source.

    A diff, or the fixed text of standard input, goes to standard output, and what is left to say to standard error.
    With a diff that is not empty the exit code is 1, and 2 where a file could not be written: what was asked for was
    not done.
    """
    if diff or (text and swept.text is not None):
        for each in swept.notes:
            note(each)
    if diff:
        sys.stdout.write(swept.diff or "")
        said = "would be applied" if swept.mended else "to apply"
        click.echo(f"{swept.mended or 'no'} fix{'es' * (swept.mended != 1)} {said}", err=True)
        return 1 if swept.diff else 0
    if text and swept.text is not None:
        sys.stdout.write(swept.text)
        click.echo(render(_verbose(report), "text", *terminal()), err=True, nl=False)
        return report.exit_code
    code = emit(report, form, output)
    if swept.mended:
        click.echo(f"{swept.mended} fix{'es' * (swept.mended != 1)} applied", err=True)
    return UNWRITTEN if swept.unwritten else code


def _verbose(report: Report) -> Report:
    context = click.get_current_context(silent=True)
    return replace(report, verbose=True) if context is not None and context.meta.get(VERBOSE) else report


def write(text: str, output: str | None) -> None:
    """`text` to standard output, or to a file as UTF-8: whole or as it was, whenever we are stopped.

    Raises ContractLintError where the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    try:
        if os.path.isfile(output) or not os.path.exists(output):
            rewrite(output, text.encode())
        else:  # a pipe, or a device: nothing may take its place
            Path(output).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ContractLintError(f"cannot be written: {error.strerror or error}", Location(output)) from error


def note(line: str | None) -> None:
    """One line beside the report, on standard error."""
    from ..report.printable import one_line

    if line is not None:
        click.echo(folded(f"contract-lint: {one_line(line)}", "  "), err=True)


def terminal() -> tuple[int | None, bool]:
    """Width and colour of standard output: at the default width unless it is a terminal or COLUMNS is set."""
    return (_columns() if sys.stdout.isatty() else _asked_for()), colours()


def folded(text: str, hanging: str = "", err: bool = True) -> str:
    """`text` at the width of standard error (else output), if it is a terminal or COLUMNS is set."""
    from ..report.wrap import sentences

    width = _columns() if (sys.stderr if err else sys.stdout).isatty() else _asked_for()
    return text if width is None else sentences(text, width, hanging)


def _columns() -> int:
    asked = _asked_for()
    if asked is not None:
        return asked
    try:
        columns = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns
    except (OSError, ValueError):
        columns = 0
    return min(max(columns or 100, NARROWEST), WIDEST)


def _asked_for() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return min(max(int(columns), NARROWEST), WIDEST) if columns.isdecimal() else None
