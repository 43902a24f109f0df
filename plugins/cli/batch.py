"""`contract-lint batch`: a batch file by itself, or held to a contract. Runs no user code, needs no jax."""

from __future__ import annotations

from typing import Any

import click

from . import batch_manifest, batch_replay
from .options import Wanted, findings_options, output_option, python_option, timeout_option

contract_option = click.option(
    "--contract",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The contract whose `data` it must keep.",
)


@click.group("batch")
def command() -> None:
    """A batch as the step gets it: a .npz or .safetensors file with tokens, targets, segments, positions, loss mask."""


for each in (batch_manifest.command, batch_replay.replay, batch_replay.records):
    command.add_command(each)


@command.command("check", short_help="What is wrong with a batch.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@contract_option
@click.option("--probe", is_flag=True, help="Also run the contract's step on it: which losses move (runs your code).")
@click.option("--step", metavar="NAME", help="The step to probe.  [default: the contract's first]")
@click.option("--target", metavar="T", help="Where to probe, e.g. cpu:8.  [default: the first that executes here]")
@python_option
@timeout_option
@findings_options
def check(
    files: tuple[str, ...],
    contract: str | None,
    probe: bool,
    step: str | None,
    target: str | None,
    python: str | None,
    timeout: int | None,
    wanted: Wanted,
) -> int:
    """Findings on batch files: shapes, ids, positions, shifted labels, what the loss counts.

    Arrays are known by their names (tokens, targets, segment_ids, positions, loss_mask, ...), or by what a contract
    says of them. Without a contract only what every batch should keep is checked.

    With --probe a few tokens are changed one by one and the contract's step says which losses move: none outside their
    document may. It runs in a process of its own.
    """
    from ..pipeline.batch import check_batch

    settings = wanted.settings()
    options: dict[str, Any] = {"select": settings.select, "ignore": settings.ignore, "fail_on": settings.fail_on}
    if not probe:
        return wanted.emit(check_batch(files, contract=contract, **options))
    if contract is None:
        raise click.UsageError("--probe needs --contract FILE: the step is named there")
    from ..pipeline.probe import probing
    from .progress import progress

    with progress() as say:
        run = probing(step=step, target=target, python=python, timeout=timeout, say=say)
        report = check_batch(files, contract=contract, probe=run, **options)
    return wanted.emit(report)


@command.command("inspect", short_help="What each token of a row means.")
@click.argument("file", metavar="FILE", type=click.Path())
@contract_option
@click.option("--row", type=int, default=0, show_default=True, help="The row to show.")
@click.option(
    "--tokenizer",
    type=click.Path(),
    metavar="PATH",
    help="A file of a tokenizer, or its folder: also the text of each token.",
)
@click.option("--query", type=int, metavar="COLUMN", help="Also the keys that this query may see.")
@click.option("--format", "form", type=click.Choice(("text", "json", "html")), default="text", help="Output format.")
@output_option
def inspect(
    file: str,
    contract: str | None,
    row: int,
    tokenizer: str | None,
    query: int | None,
    form: str,
    output: str | None,
) -> None:
    """One row of a batch, a column for each token: id, segment, position, target, loss mask; and the batch's counts."""
    from ..pipeline.batch import open_batch, view_row
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    view = view_row(open_batch(file, contract), row, query, tokenizer)
    if form == "json":
        from ..report.json import dumps

        write(dumps(view.as_json()), output)
    elif form == "html":
        from ..report.batch_html import html

        write(html(view), output)
    else:
        from ..report.batch_text import text

        write(text(view, (None if output else terminal()[0]) or DEFAULT_WIDTH), output)
