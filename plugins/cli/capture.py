"""`contract-lint capture`: a folder with everything traced, lowered and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import capture_options

if TYPE_CHECKING:
    from ...runtime.targets import Effort


@click.command("capture")
@click.argument("contract", type=click.Path())
@click.option("-o", "--out", type=click.Path(), required=True, metavar="DIR", help="Folder to write the capture to.")
@click.option("--run", is_flag=True, help="Execute the steps too.")
@click.option("--semantics", is_flag=True, help="Probe what the steps mean too.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps to execute with --run.")
@capture_options
def command(
    contract: str,
    out: str,
    run: bool,
    semantics: bool,
    steps: int | None,
    targets: tuple[str, ...],
    effort: Effort | None,
    python: str | None,
    timeout: int | None,
    no_cache: bool,
    cache_dir: str | None,
) -> None:
    """Trace, lower and compile the steps of CONTRACT and keep the result in DIR.

    `verify CONTRACT --capture DIR` judges it later, on any machine, without jax. With several targets DIR gets one
    folder for each.
    """
    from ..pipeline.capture import capture_each
    from ..pipeline.not_checked import stopped
    from ..pipeline.settings import load_settings
    from .progress import progress

    if steps is not None and not run:
        raise click.UsageError("--steps needs --run")
    with progress() as say:
        folders, missing = capture_each(
            contract,
            targets=targets,
            out=out,
            run=run,
            semantics=semantics,
            steps=steps,
            cache=not no_cache,
            python=python,
            timeout=timeout,
            effort=effort,
            cache_dir=cache_dir or load_settings(Path.cwd()).cache_dir,
            say=say,
        )
    for folder in folders:
        click.echo(folder.as_posix())
    if missing:
        raise stopped(missing)
