"""`contract-lint verify`: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import Wanted, capture_options, findings_options, record_option

if TYPE_CHECKING:
    from ...runtime.targets import Effort


@click.command("verify")
@click.argument("contract", type=click.Path())
@click.option(
    "--capture", "capture_dir", type=click.Path(), metavar="DIR", help="Judge this capture; run nothing, need no jax."
)
@click.option("--run", is_flag=True, help="Execute the steps too and compare with one device.")
@click.option(
    "--semantics", is_flag=True, help="Probe what the steps mean too: terms, accumulation, update, random numbers."
)
@click.option("--steps", type=click.IntRange(min=1), help="Steps to execute with --run.")
@record_option
@capture_options
@findings_options
def command(
    contract: str,
    capture_dir: str | None,
    run: bool,
    semantics: bool,
    steps: int | None,
    record: bool,
    targets: tuple[str, ...],
    effort: Effort | None,
    python: str | None,
    timeout: int | None,
    no_cache: bool,
    cache_dir: str | None,
    wanted: Wanted,
) -> int:
    """Hold the steps of CONTRACT to their promises: compile them for each target, compare, report.

    This imports and runs your build function, in a child process. With --capture it runs nothing.
    """
    from ..pipeline.record.automatic import Seen, Where, record_verdict
    from ..pipeline.verify import verify
    from .output import note
    from .progress import progress

    if steps is not None and not run:
        raise click.UsageError("--steps needs --run")
    making = {"--steps": steps, "--effort": effort, "--python": python, "--timeout": timeout, "--no-cache": no_cache}
    making["--cache-dir"] = cache_dir
    useless = [name for name, value in making.items() if value]
    if capture_dir is not None and useless:
        raise click.UsageError(
            f"{', '.join(useless)}: --capture judges what is there and runs nothing; leave {_them(useless)} out, or "
            "make the capture with `contract-lint capture`"
        )
    settings, seen = wanted.settings(), Seen(contract) if record else None
    with progress() as say:
        report = verify(
            contract,
            targets=targets,
            capture_dir=capture_dir,
            run=run,
            semantics=semantics,
            steps=steps,
            cache=not no_cache,
            python=python,
            timeout=timeout,
            effort=effort,
            cache_dir=cache_dir or settings.cache_dir,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            say=say,
            witness=seen.take if seen is not None else None,
        )
    code = wanted.emit(report)
    if seen is not None:
        note(record_verdict(report, seen, Where(cache_dir or settings.cache_dir, python)))
    return code


def _them(names: list[str]) -> str:
    return "them" if len(names) > 1 else "it"
