"""`contract-lint lock`: what each parameter means in training, as a committed summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import Wanted, capture_options, findings_options

if TYPE_CHECKING:
    from ...runtime.targets import Effort


@click.command("lock")
@click.argument("contract", type=click.Path())
@click.option("--update", is_flag=True, help="Write the lock instead of comparing with it.")
@click.option("--why", metavar="TEXT", help="With --update: what changed and why, kept in the lock.")
@capture_options
@findings_options
def command(
    contract: str,
    update: bool,
    why: str | None,
    targets: tuple[str, ...],
    effort: Effort | None,
    python: str | None,
    timeout: int | None,
    no_cache: bool,
    cache_dir: str | None,
    wanted: Wanted,
) -> int:
    """Compare initialiser, decay, learning rate, clip, dtype and placement of each parameter with the committed lock.

    This imports and runs your build function, in a child process. The lock lies beside CONTRACT; there is none before
    the first --update, and comparing with nothing ends with exit code 2.
    """
    from ..pipeline.lock import compare_lock, update_lock
    from .progress import progress

    if update and why is None:
        raise click.UsageError('--update needs --why "what changed and why"')
    if why is not None and not update:
        raise click.UsageError("--why needs --update")
    settings = wanted.settings()
    options = {
        "targets": targets,
        "effort": effort,
        "python": python,
        "timeout": timeout,
        "cache": not no_cache,
        "cache_dir": cache_dir or settings.cache_dir,
    }
    if why is not None:
        with progress() as say:
            path, lock = update_lock(contract, why, say=say, **options)
        count = sum(len(parameters) for parameters in lock.steps.values())
        click.echo(
            f"{path.as_posix()}: {count} parameters of {len(lock.steps)} step{'s' * (len(lock.steps) != 1)} locked"
        )
        return 0
    with progress() as say:
        report = compare_lock(
            contract,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            say=say,
            **options,
        )
    return wanted.emit(report)
