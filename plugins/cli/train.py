"""`contract-lint train`: the reference trainer on a synthetic language."""

from __future__ import annotations

from pathlib import Path

import click

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
    for row in rows:
        last = row.get("step") == steps - 1
        if form == "json":
            click.echo(json.dumps(row))
        elif "taken_up" in row:
            click.echo(f"taken up behind step {row['taken_up']:,} of {checkpoints}")
        elif "entropy" in row:
            click.echo(
                f"entropy {row['entropy']:.4f} nats for each token, excess of the last tenth {row['excess']:.4f}"
            )
        elif row["step"] % every == 0 or last:
            click.echo(f"step {row['step']:>6,}  loss {row['loss']:.4f}  grad norm {row['grad_norm']:.3g}")
    metrics = rows.metrics()
    if "loss" not in metrics:
        say(f"{steps:,} step{'s are' if steps != 1 else ' is'} finished already: nothing was left to do")
        return
    if form == "text" and SECONDS in metrics:
        click.echo(times(metrics[SECONDS]))
    if seen is not None:
        where = Where(load_settings(Path.cwd(), None).cache_dir, python)
        program = rows.rows[-1].get("program")
        note(record_training(seen, target, metrics, where, program=program, checkpoints=checkpoints))
