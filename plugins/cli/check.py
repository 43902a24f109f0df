"""`contract-lint check`: contracts and Python source, without jax and without running any code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import Wanted, codes, findings_options

if TYPE_CHECKING:
    from ..pipeline.report import FailOn
    from ..pipeline.settings import Settings

INPUT = "-"
UNNAMED = "stdin.py"


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@findings_options
@click.option(
    "--exclude", multiple=True, metavar="PATTERNS", help="Not these files and folders, beside those of the settings."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found; the same as --fail-on never.")
@click.option("--certain", is_flag=True, help="Only findings that cannot be false alarms.")
@click.option("--preview", is_flag=True, help="Also rules that are still being proven.")
@click.option("--fix", is_flag=True, help="Apply the fixes that cannot change what a program computes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: all fixes. Read what they change.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; change nothing.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Findings listed there do not count; entries that are stale do.",
)
@click.option("--update-baseline", is_flag=True, help="Write the findings of this run to the baseline.")
@click.option("--statistics", is_flag=True, help="How often each rule fires, not where.")
@click.option("--show-settings", is_flag=True, help="Print what holds for PATHS, and which files say it.")
@click.option("--why", metavar="FILE:LINE", help="Why the function at that line is traced, call by call.")
@click.option("--stdin-filename", metavar="FILE", help="What the text on standard input (PATH -) is called.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to work in.  [default: all CPUs]")
@click.option("--no-cache", is_flag=True, help="Analyse everything anew, and keep nothing.")
def command(
    paths: tuple[str, ...],
    wanted: Wanted,
    exclude: tuple[str, ...],
    exit_zero: bool,
    certain: bool,
    preview: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    baseline: str | None,
    update_baseline: bool,
    statistics: bool,
    show_settings: bool,
    why: str | None,
    stdin_filename: str | None,
    jobs: int | None,
    no_cache: bool,
) -> int:
    """Check the contracts (*.contract.yaml) and the Python source (*.py, *.ipynb) at PATHS.

    PATHS are files and folders (default: the current folder); `-` is standard input. Other files are ignored, so a
    hook may pass every changed file. Your code is never imported or run.
    """
    from ..pipeline.settings import cascade

    def options(settings: Settings) -> Settings:
        failing: FailOn | None = "never" if exit_zero else wanted.fail_on
        return settings.with_options(
            wanted.select, wanted.ignore, failing, preview=preview, certain=certain, exclude=codes(exclude)
        )

    settings_of = cascade(Path.cwd(), options, wanted.config)
    settings = settings_of(os.path.join(os.getcwd(), UNNAMED))
    if show_settings:
        from ..report.settings import render
        from .output import write

        shown = [(path, os.path.join(path, UNNAMED) if os.path.isdir(path) else path) for path in paths or (".",)]
        write("\n".join(render(path, settings_of(file)) for path, file in shown), wanted.output)
        return 0
    if why is not None:
        from .why import explain_trace

        return explain_trace(
            why, [path for path in paths if path != INPUT], settings, settings_of, wanted.form, wanted.output
        )
    if update_baseline and baseline is None and settings.baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE, or `baseline` in [tool.contract-lint].")
    if statistics and wanted.form not in ("text", "json"):
        raise click.UsageError("--statistics is said in --format text or json.")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff.")
    from ..pipeline.check import check_with
    from ..pipeline.sweep import Sweep
    from .output import emit_check

    stdin = _input(paths, stdin_filename)
    sweep = Sweep(
        stdin=stdin,
        jobs=jobs or 0,
        cache=not no_cache and stdin is None,
        baseline=baseline,
        update=update_baseline,
        partial=bool(exclude),
        fix="unsafe" if unsafe_fixes else "safe" if fix or diff else "none",
        diff=diff,
    )
    report, swept = check_with([Path(path) for path in paths or (".",)], settings, settings_of, sweep, statistics)
    return emit_check(report, swept, wanted.form, wanted.output, diff=diff, text=fix and stdin is not None)


def _input(paths: tuple[str, ...], name: str | None) -> tuple[str, bytes] | None:
    """Name and bytes of standard input where it is asked for."""
    if INPUT not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename needs the PATH `-`.")
        return None
    if len(paths) > 1:
        raise click.UsageError("`-` is checked by itself.")
    return Path(name or UNNAMED).as_posix(), sys.stdin.buffer.read()
