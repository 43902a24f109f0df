"""`contract-lint schema`: the JSON Schema of contracts."""

from __future__ import annotations

import click

from .options import output_option


@click.command("schema")
@output_option
def command(output: str | None) -> None:
    """Print the JSON Schema of contracts, for editors that complete and check YAML."""
    from ...contracts.schema import contract_json_schema
    from ..report.json import dumps
    from .output import write

    write(dumps(contract_json_schema()), output)
