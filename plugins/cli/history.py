"""`contract-lint history`: the records of a project over time. Runs no user code, needs no jax."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import cache_dir_option, output_option

if TYPE_CHECKING:
    from ..pipeline.record.history import Listed

NAMED = 20
"""Names of metrics that a refusal tells."""
LAST = 40
"""Records that are listed as text."""
name_option = click.option("--name", metavar="PATTERN", help="Only records whose name matches, such as 'dense-*'.")
database_option = click.option(
    "--db", type=click.Path(dir_okay=False), metavar="FILE", help="The index.  [default: beside the records]"
)
format_option = click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="Output format."
)


class _Listing(click.Group):
    """A group that lists where no word says otherwise: `history --name x` is `history list --name x`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if bare else args)


@click.group("history", cls=_Listing)
def command() -> None:
    """The records of this project, oldest first: `list` (as without a word, with its options), `compare`, `plot`.

    They are kept in .contract-lint/records by `verify`, `train` and `record create`; an SQLite index lies beside them.
    """


@command.command("list", short_help="One line a record.")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"The newest N.  [default: {LAST} as text, all as json]",
)
@name_option
@database_option
@format_option
@cache_dir_option
@output_option
def list_records(
    last: int | None, name: str | None, db: str | None, form: str, cache_dir: str | None, output: str | None
) -> None:
    """Each record with its verdict, the rules on records that it breaks, its loss and the time of a step: mean and
    percentiles."""
    from ..report.history_text import as_json, listed
    from ..report.json import dumps
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    found = _history(cache_dir, db, name)
    width = (None if output else terminal()[0]) or DEFAULT_WIDTH
    write(dumps(as_json(found, last)) if form == "json" else listed(found, last or LAST, width), output)
    _tell(found)


@command.command("compare", short_help="Records side by side.")
@click.argument("records", nargs=-1, required=True, metavar="RECORD...")
@format_option
@cache_dir_option
@output_option
def compare(records: tuple[str, ...], form: str, cache_dir: str | None, output: str | None) -> None:
    """The keys that differ between RECORDs, and the figures of each. RECORD as `contract-lint record` takes it."""
    from ..pipeline.record.history import compare
    from ..report.history_compared import compared
    from ..report.json import dumps
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    if len(records) < 2:
        raise click.UsageError("name two records or more")
    found = compare(records, _cache_dir(cache_dir))
    width = (None if output else terminal()[0]) or DEFAULT_WIDTH
    write(dumps(found.as_json()) if form == "json" else compared(found, width), output)


@command.command("plot", short_help="Metrics over time, as one offline page.")
@click.option("--metric", "metrics", multiple=True, metavar="PATTERN", help="Only these metrics, such as 'loss*'.")
@name_option
@database_option
@cache_dir_option
@output_option
def plot(metrics: tuple[str, ...], name: str | None, db: str | None, cache_dir: str | None, output: str | None) -> None:
    """One HTML page that loads nothing: a curve for each metric over the records; of times the percentiles beside the
    mean. At a terminal --output names its file."""
    from ...linters.cut import in_a_line
    from ..report.history_html import fitting, history_html, metric_names
    from ..report.printable import one_line, plural
    from .output import folded, write

    if output is None and sys.stdout.isatty():
        raise click.UsageError("a page is nothing to read at a terminal: name a file with --output")
    found = _history(cache_dir, db, name)
    if metrics and found.rows and not fitting(found.rows, metrics):
        named = in_a_line(map(one_line, metric_names(found.rows)), NAMED) or "none"
        raise click.UsageError(f"no metric is called {' or '.join(metrics)}: there are {named}")
    write(history_html(found.rows, metrics), output)
    if output:
        click.echo(folded(f"{output}: {plural(len(found.rows), 'record')}"), err=True)
    _tell(found)


def _history(cache_dir: str | None, db: str | None, name: str | None) -> Listed:
    from ..pipeline.record.history import history
    from .progress import progress

    with progress() as say:
        return history(cache_dir=_cache_dir(cache_dir), database=db, name=name, say=say)


def _tell(found: Listed) -> None:
    """What stands beside the records."""
    from .output import note

    for each in (*(f"not read: {each}" for each in found.unread), *found.notes):
        note(each)


def _cache_dir(given: str | None) -> str | None:
    from ..pipeline.settings import load_settings

    return given or load_settings(Path.cwd(), None).cache_dir
