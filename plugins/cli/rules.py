"""`contract-lint rules`: the catalogue."""

from __future__ import annotations

import click

from .options import LEDGER_FORMATS, output_option


@click.command("rules")
@click.option("--format", "form", type=click.Choice(LEDGER_FORMATS), default="text", help="Output format.")
@output_option
def command(form: str, output: str | None) -> None:
    """List every rule: code, name, severity, evidence and one sentence."""
    from ...linters.registry import rules
    from ..report.catalogue import render
    from .output import terminal, write

    width, color = (None, False) if output else terminal()
    write(render(rules(), form, width, color), output)
