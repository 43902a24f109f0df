"""`contract-lint explain`: one rule's documentation."""

from __future__ import annotations

import click

from .options import LEDGER_FORMATS, output_option


@click.command("explain")
@click.argument("rule")
@click.option("--format", "form", type=click.Choice(LEDGER_FORMATS), default="text", help="Output format.")
@output_option
def command(rule: str, form: str, output: str | None) -> None:
    """Explain RULE, a code such as SHD204 or a name such as unplanned-collective."""
    from ...contracts.errors import ContractLintError
    from ...contracts.suggest import nearest
    from ...linters.registry import find_rule, rules
    from ..report.explanation import render
    from .output import terminal, write

    found = find_rule(rule)
    if found is None:
        # A code that looks alike says nothing about what was meant; a name does.
        near = nearest(rule, [each.name for each in rules()])
        raise ContractLintError(
            f"no rule has the code or name {rule!r}",
            help=f"did you mean `{near}`?" if near else "`contract-lint rules` lists them",
        )
    width, color = (None, False) if output else terminal()
    write(render(found, form, width, color), output)
