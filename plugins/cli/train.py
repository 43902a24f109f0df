"""`contract-lint train`: the reference trainer on a synthetic language."""

from __future__ import annotations

import click

from .options import python_option


@click.command("train")
@click.argument("contract", type=click.Path())
@click.option("--target", metavar="T", help="Where to run, e.g. cpu:8.  [default: the contract's first target]")
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True, help="Training steps.")
@click.option("--every", type=click.IntRange(min=1), default=10, show_default=True, help="Print every so many steps.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="json: one object a line.")
@python_option
def command(contract: str, target: str | None, steps: int, every: int, form: str, python: str | None) -> None:
    """Run the reference trainer that CONTRACT names, on a small synthetic language of known entropy."""
    import json

    from ..pipeline.train import train
    from .output import folded

    def say(line: str) -> None:
        click.echo(folded(f"contract-lint: {line}", "  "), err=True)

    for row in train(contract, target=target, steps=steps, python=python, say=say):
        last = row.get("step") == steps - 1
        if form == "json":
            click.echo(json.dumps(row))
        elif "entropy" in row:
            click.echo(
                f"entropy {row['entropy']:.4f} nats for each token, excess of the last tenth {row['excess']:.4f}"
            )
        elif row["step"] % every == 0 or last:
            click.echo(f"step {row['step']:>6,}  loss {row['loss']:.4f}  grad norm {row['grad_norm']:.3g}")
