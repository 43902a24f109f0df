"""`contract-lint train`: the reference trainer on a synthetic language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ...contracts.errors import ContractLintError
from .options import python_option, record_option


@click.command("train")
@click.argument("contract", type=click.Path())
@click.option("--target", metavar="T", help="Where to run, e.g. cpu:8.  [default: the contract's first target]")
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True, help="Training steps.")
@click.option("--every", type=click.IntRange(min=1), default=10, show_default=True, help="Print every so many steps.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="json: one object a line.")
@record_option
@click.option(
    "--checkpoints",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Save there, and take up what is committed there. The contract's `checkpoint` says what else is left.",
)
@click.option("--save-every", type=click.IntRange(min=1), metavar="N", help="Save every so many steps, and at the end.")
@python_option
def command(
    contract: str,
    target: str | None,
    steps: int,
    every: int,
    form: str,
    record: bool,
    checkpoints: str | None,
    save_every: int | None,
    python: str | None,
) -> None:
    """Run the reference trainer that CONTRACT names, on a small synthetic language of known entropy."""
    import json

    from ..pipeline.record.automatic import Where, begun, record_training
    from ..pipeline.record.timed import SECONDS, Timed
    from ..pipeline.settings import load_settings
    from ..pipeline.train import train
    from ..report.history_text import times
    from .output import folded, note

    def say(line: str) -> None:
        click.echo(folded(f"contract-lint: {line}", "  "), err=True)

    if save_every is not None and checkpoints is None:
        raise click.UsageError("--save-every needs --checkpoints")
    seen = begun(contract) if record else None
    run = train(
        contract, target=target, steps=steps, checkpoints=checkpoints, save_every=save_every, python=python, say=say
    )
    rows = Timed(run)
    try:
        with closing(run):  # the child has ended before anybody asks what it has left
            for row in rows:
                line = json.dumps(row) if form == "json" else _line(row, steps, every, checkpoints)
                if line is not None:
                    click.echo(line)
        metrics = rows.metrics()
        if "loss" not in metrics:
            say(f"{steps:,} step{'s are' if steps != 1 else ' is'} finished already: nothing was left to do")
            return
        if form == "text" and SECONDS in metrics:
            click.echo(times(metrics[SECONDS]))
        if seen is not None:
            where = Where(load_settings(Path.cwd(), None).cache_dir, python)
            program = rows.rows[-1].get("program")
            over = rows.steps()
            told = record_training(seen, target, metrics, where, program=program, steps=over, checkpoints=checkpoints)
            for line in told:
                note(line)
    except BaseException as error:
        if rows.rows or not isinstance(error, ContractLintError):
            told = () if isinstance(error, ContractLintError) else (_left(checkpoints),)  # the error says it itself
            say(_ended(rows.rows, steps, ("no record was written",) * record + told))
        raise


def _line(row: Mapping[str, Any], steps: int, every: int, checkpoints: str | None) -> str | None:
    """What is printed of a row, if anything: the first step shows that the run has begun."""
    if "taken_up" in row:
        return f"taken up behind step {row['taken_up']:,} of {checkpoints}"
    if "entropy" in row:
        return f"entropy {row['entropy']:.4f} nats for each token, excess of the last tenth {row['excess']:.4f}"
    step, first = row["step"], "seconds" not in row
    if step % every and step != steps and not first:
        return None
    return f"step {step:>6,}  loss {row['loss']:.4f}  grad norm {row['grad_norm']:.3g}"


def _ended(rows: Sequence[Mapping[str, Any]], steps: int, told: Sequence[str]) -> str:
    """What became of a run that was not finished."""
    done = max((row.get("step", row.get("taken_up", 0)) for row in rows), default=0)
    return ": ".join(filter(None, (f"ended behind step {done:,} of {steps:,}", ", and ".join(told))))


def _left(checkpoints: str | None) -> str:
    from ..pipeline.train import committed

    return committed(checkpoints) if checkpoints is not None else "nothing was saved: --checkpoints names a folder"
