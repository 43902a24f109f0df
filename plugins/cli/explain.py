"""`contract-lint explain`: one rule's documentation."""

from __future__ import annotations

import click

from .options import LEDGER_FORMATS, output_option


@click.command("explain")
@click.argument("rule")
@click.option("--format", "form", type=click.Choice(LEDGER_FORMATS), default="text", help="Output format.")
@click.option("--examples", is_flag=True, help="Also every example that the rule is tested with.")
@output_option
def command(rule: str, form: str, examples: bool, output: str | None) -> None:
    """Explain RULE, a code such as SHD204 or a name such as unplanned-collective: what it finds, why, what to do."""
    from ...contracts.errors import ContractLintError
    from ...contracts.suggest import instead_of
    from ...linters.registry import find_rule, rules
    from ..report.explanation import render
    from .output import terminal, write

    found = find_rule(rule)
    if found is None:
        codes, names = [each.code for each in rules()], [each.name for each in rules()]
        raise ContractLintError(f"no rule has the code or name {rule!r}", help=instead_of(rule, codes, names))
    width, color = (None, False) if output else terminal()
    write(render(found, form, width, color, examples), output)
