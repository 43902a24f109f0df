"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ..pipeline.settings_file import FAIL_ON

if TYPE_CHECKING:
    from ..pipeline.report import FailOn, Report
    from ..pipeline.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

FINDING_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown")
LEDGER_FORMATS = ("text", "json", "markdown")
PAGE_FORMATS = (*LEDGER_FORMATS, "html")
VERBOSE = "contract_lint.verbose"
"""Where a context keeps that more is to be said."""
EFFORTS = ("fast", "full")


def _told(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta[VERBOSE] = value


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which findings a caller wants to see, how, and where: what `findings_options` gives a verb."""

    form: str
    output: str | None
    fail_on: FailOn | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    config: str | None

    def settings(self) -> Settings:
        """The settings of this folder with the options over them."""
        from ..pipeline.settings import load_settings

        return load_settings(Path.cwd(), self.config).with_options(self.select, self.ignore, self.fail_on)

    def emit(self, report: Report) -> int:
        """Show the report; its exit code."""
        from .output import emit

        return emit(report, self.form, self.output)


def findings_options(command: Command) -> Command:
    """`--format`, `--output`, `--fail-on`, `--select`, `--ignore`, `--config`, `-v`: as `wanted`, but for `-v`."""
    command = _gathered(command)
    for option in reversed(
        (
            click.option("--format", "form", type=click.Choice(FINDING_FORMATS), default="text", help="Output format."),
            output_option,
            click.option(
                "--fail-on",
                type=click.Choice(FAIL_ON),
                help="Least severity of a new finding that exits with 1.  [default: error]",
            ),
            click.option(
                "--select",
                multiple=True,
                metavar="CODES",
                help="Only these rules: codes, prefixes or names, with commas.",
            ),
            click.option("--ignore", multiple=True, metavar="CODES", help="Not these rules."),
            click.option(
                "--config",
                type=click.Path(dir_okay=False),
                metavar="FILE",
                help="Settings from its [tool.contract-lint], and from no pyproject.toml.",
            ),
            click.option(
                "-v",
                "--verbose",
                is_flag=True,
                expose_value=False,
                callback=_told,
                help="List all that was set aside.",
            ),
        )
    ):
        command = option(command)
    return command


def _gathered(command: Command) -> Command:
    @wraps(command)
    def run(
        *args: Any,
        form: str,
        output: str | None,
        fail_on: FailOn | None,
        select: tuple[str, ...],
        ignore: tuple[str, ...],
        config: str | None,
        **rest: Any,
    ) -> Any:
        return command(*args, wanted=Wanted(form, output, fail_on, codes(select), codes(ignore), config), **rest)

    return cast(Command, run)


output_option = click.option(
    "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report there, not to standard output."
)


def capture_options(command: Command) -> Command:
    """How the steps are built and compiled: `--target`, `--effort`, `--python`, `--timeout`, `--no-cache`,
    `--cache-dir`."""
    for option in reversed(
        (
            click.option(
                "--target", "targets", multiple=True, metavar="T", help="Only this target, e.g. cpu:8; may be repeated."
            ),
            click.option(
                "--effort",
                type=click.Choice(EFFORTS),
                help="How hard the compiler tries.  [default: fast on tpu and cuda; cpu has but one]",
            ),
            python_option,
            timeout_option,
            click.option("--no-cache", is_flag=True, help="Compile again even when nothing has changed."),
            cache_dir_option,
        )
    ):
        command = option(command)
    return command


record_option = click.option(
    "--no-record",
    "record",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Keep no record of this in .contract-lint.",
)
cache_dir_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep captures there.  [default: .contract-lint in the project]",
)
python_option = click.option(
    "--python", type=click.Path(dir_okay=False), metavar="EXE", help="Interpreter that has jax and your packages."
)
timeout_option = click.option(
    "--timeout",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="Longest time one target may take.  [default: 1800]",
)


def codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`("SHD,MEM201", "JIT")` as `("SHD", "MEM201", "JIT")`."""
    return tuple(part for value in values for part in (piece.strip() for piece in value.split(",")) if part)
