"""`contract-lint check`: contracts without jax and without running any code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import codes, findings_options

if TYPE_CHECKING:
    from ..pipeline.report import FailOn


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@findings_options
def command(
    paths: tuple[str, ...],
    form: str,
    output: str | None,
    fail_on: FailOn | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> int:
    """Check the *.contract.yaml files at PATHS (default: the current folder and all below it).

    Other files are ignored, so a hook may pass every changed file. User code is never imported or run.
    """
    from ..pipeline.check import check
    from .output import emit
    from .settings import load_settings

    settings = load_settings(Path.cwd()).with_options(codes(select), codes(ignore), fail_on)
    report = check(
        [Path(path) for path in paths or (".",)],
        select=settings.select,
        ignore=settings.ignore,
        exclude=settings.exclude,
        fail_on=settings.fail_on,
    )
    return emit(report, form, output)
