"""`contract-lint explain`: one rule's documentation, or the rules whose codes begin in one way."""

from __future__ import annotations

import click

from .options import LEDGER_FORMATS, output_option


@click.command("explain")
@click.argument("rule")
@click.option("--format", "form", type=click.Choice(LEDGER_FORMATS), default="text", help="Output format.")
@click.option("--examples", is_flag=True, help="Also every example that the rule is tested with.")
@output_option
def command(rule: str, form: str, examples: bool, output: str | None) -> None:
    """Explain RULE, a code such as SHD204 or a name such as unplanned-collective: what it finds, why, what to do.

    The beginning of codes, such as SHD or SHD2, lists the rules that begin so.
    """
    from ...contracts.errors import ContractLintError
    from ...contracts.suggest import instead_of
    from ...linters.registry import find_rule, rules
    from ..report import catalogue
    from ..report.explanation import render
    from .output import terminal, write

    width, color = (None, False) if output else terminal()
    found = find_rule(rule)
    if found is not None:
        write(render(found, form, width, color, examples), output)
        return
    begun = tuple(each for each in rules() if rule.strip() and each.code.startswith(rule.strip().upper()))
    if not begun:
        codes, names = [each.code for each in rules()], [each.name for each in rules()]
        raise ContractLintError(f"no rule has the code or name {rule!r}", help=instead_of(rule, codes, names))
    write(catalogue.render(begun, form, width, color), output)
