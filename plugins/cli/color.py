"""`--color`, which every verb takes, and whether there are to be colours."""

from __future__ import annotations

import os
import sys

import click


def _coloured(ctx: click.Context, option: click.Parameter, value: str) -> None:
    if value != "auto":
        ctx.color = value == "always"


color_option = click.Option(
    ["--color"],
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    expose_value=False,
    callback=_coloured,
    help="Colours in text; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say.",
)


def with_color(command: click.Command) -> click.Command:
    """The command, and all that are below it, with `--color`."""
    if color_option not in command.params:
        command.params.append(color_option)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_color(inner)
    return command


def colours() -> bool:
    """Whether standard output is to have colours: as `--color` says, else NO_COLOR, FORCE_COLOR, the terminal."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
