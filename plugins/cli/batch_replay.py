"""`contract-lint batch replay` and `batch progress`: places in data, as runs write them down."""

from __future__ import annotations

import click

from .options import Wanted, findings_options, python_option, timeout_option

contract_option = click.option(
    "--contract", type=click.Path(dir_okay=False), metavar="FILE", help="The contract whose `data` they must keep."
)


@click.command("replay", short_help="Whether two places in the data give the same batches (runs your loader).")
@click.argument("first", metavar="A", type=click.Path(dir_okay=False))
@click.argument("second", metavar="B", type=click.Path(dir_okay=False))
@click.option("--loader", metavar="MODULE:FUNCTION", help="What opens the data.  [default: data.loader.entry]")
@click.option("--batches", type=click.IntRange(1, 10_000), default=3, show_default=True, help="How many to compare.")
@contract_option
@python_option
@timeout_option
@findings_options
def replay(
    first: str,
    second: str,
    loader: str | None,
    batches: int,
    contract: str | None,
    python: str | None,
    timeout: int | None,
    wanted: Wanted,
) -> int:
    """Two progress records (JSON, or the last line of a .jsonl) against each other and against the loader.

    The loader is a function that gives a grain Dataset or DataLoader, or anything whose iterators have get_state and
    set_state; or that takes `cursor` and gives an iterator that stands there. It runs in a process of its own.
    """
    from ..pipeline import replay as pipeline
    from .progress import progress

    settings = wanted.settings()
    with progress() as say:
        report = pipeline.replay(
            first,
            second,
            loader=loader,
            contract=contract,
            batches=batches,
            python=python,
            timeout=timeout,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            say=say,
        )
    return wanted.emit(report)


@click.command("progress", short_help="Whether the records of a run are whole, and move on.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(dir_okay=False))
@contract_option
@findings_options
def records(
    files: tuple[str, ...],
    contract: str | None,
    wanted: Wanted,
) -> int:
    """The progress records of one run, a line of JSON for each checkpoint: their twelve fields, and that they advance.

    Runs no user code, needs no jax.
    """
    from ..pipeline.replay import check_progress

    settings = wanted.settings()
    report = check_progress(
        files, contract=contract, select=settings.select, ignore=settings.ignore, fail_on=settings.fail_on
    )
    return wanted.emit(report)
