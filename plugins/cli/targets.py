"""`contract-lint targets`: what this machine can compile for."""

from __future__ import annotations

import click

from .options import LEDGER_FORMATS, output_option


@click.command("targets")
@click.option("--format", "form", type=click.Choice(LEDGER_FORMATS), default="text", help="Output format.")
@output_option
def command(form: str, output: str | None) -> None:
    """List what this machine can compile for, what is missing, and how to get it.

    Reads the metadata of installed packages only: it loads neither jax nor a compiler.
    """
    from ..pipeline.machine import machine
    from ..report.machine import render
    from .output import terminal, write

    width, _ = (None, False) if output else terminal()
    write(render(machine(), form, width), output)
