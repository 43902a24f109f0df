"""`contract-lint record`: what a result rests on, bound by digests. Runs no user code, needs no jax."""

from __future__ import annotations

from pathlib import Path

import click

from .options import Wanted, cache_dir_option, findings_options, output_option, python_option

root_option = click.option(
    "--root",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder that its paths are relative to.  [default: the project]",
)


@click.group("record")
def command() -> None:
    """An experiment record: contract, source, versions, programs, checkpoints, metrics and conclusion, with digests.

    RECORD is a file, the first digits of its sha256, or `latest`. Records of a project are kept in
    .contract-lint/records; `contract-lint history` lists them.
    """


@command.command("create", short_help="Write a record of a run.")
@click.argument("contract", type=click.Path())
@click.option("--metrics", multiple=True, metavar="FILE", help="Numbers: a JSON object a line, or one JSON object.")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="A verdict: a report of --format json.")
@click.option("--capture", "captures", multiple=True, metavar="DIR", help="A capture: the programs that ran.")
@click.option("--checkpoint", "checkpoints", multiple=True, metavar="PATH", help="A checkpoint: its newest step.")
@click.option("--data", multiple=True, metavar="FILE", help="A data manifest.")
@click.option("--file", "files", multiple=True, metavar="FILE", help="Any other file to bind.")
@click.option("--conclusion", metavar="TEXT", help="What follows from all this.")
@click.option("--author", metavar="'NAME <ADDRESS>'", help="Whose run it was.  [default: as git says]")
@root_option
@click.option("-o", "--out", type=click.Path(file_okay=False), metavar="DIR", help="Write it there.")
@cache_dir_option
@python_option
@findings_options
def create(
    contract: str,
    metrics: tuple[str, ...],
    reports: tuple[str, ...],
    captures: tuple[str, ...],
    checkpoints: tuple[str, ...],
    data: tuple[str, ...],
    files: tuple[str, ...],
    conclusion: str | None,
    author: str | None,
    root: str | None,
    out: str | None,
    cache_dir: str | None,
    python: str | None,
    wanted: Wanted,
) -> int:
    """Bind what is named, and what is known anyway (source, resolved configuration, versions), in one record.

    The rules on records judge it at once; the record is kept whatever they find.
    """
    from ..pipeline.record.create import Asked, create
    from ..pipeline.record.verify import new_report
    from .progress import progress

    settings = wanted.settings()
    asked = Asked(metrics, reports, captures, checkpoints, data, files, conclusion, author)
    with progress(lines=False) as told:
        created = create(
            contract, asked, root=root, out=out, python=python, cache_dir=cache_dir or settings.cache_dir, say=told
        )
    return wanted.emit(new_report(created, settings.select, settings.ignore, settings.fail_on))


@command.command("verify", short_help="Whether a record and all it binds are unchanged.")
@click.argument("record")
@root_option
@cache_dir_option
@findings_options
def verify(record: str, root: str | None, cache_dir: str | None, wanted: Wanted) -> int:
    """Work out every digest of RECORD again: its own, those of the files it binds, and what follows from them."""
    from ..pipeline.record.verify import verify_record
    from .progress import progress

    settings = wanted.settings()
    with progress(lines=False) as told:
        report = verify_record(
            record,
            root=root,
            cache_dir=cache_dir or settings.cache_dir,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            on_progress=told,
        )
    return wanted.emit(report)


@command.command("show", short_help="What a record says.")
@click.argument("record")
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="json: the statement as it is."
)
@cache_dir_option
@output_option
def show(record: str, form: str, cache_dir: str | None, output: str | None) -> None:
    """What RECORD says, by part. Reads no other file."""
    from ..pipeline.record.place import find, read_record, shown_path
    from ..report.json import dumps
    from ..report.record_text import shown
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    path = find(record, _cache_dir(cache_dir))
    found = read_record(path)
    width = (None if output else terminal()[0]) or DEFAULT_WIDTH
    write(dumps(found.statement()) if form == "json" else shown(found, shown_path(path), width), output)


@command.command("diff", short_help="What two records differ in, likely causes first.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="Output format.")
@cache_dir_option
@output_option
def diff(a: str, b: str, form: str, cache_dir: str | None, output: str | None) -> None:
    """Differences by likely effect: configuration, program, source, data, versions, flags, devices; then the results.

    The exit code is 0 whatever differs, as that of `contract-lint diff`.
    """
    from ..pipeline.record.diff import record_diff
    from ..pipeline.record.place import find, read_record, shown_path
    from ..report.json import dumps
    from ..report.record_text import compared
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    one, other = (find(each, _cache_dir(cache_dir)) for each in (a, b))
    found = record_diff(shown_path(one), shown_path(other), read_record(one), read_record(other))
    width = (None if output else terminal()[0]) or DEFAULT_WIDTH
    write(dumps(found.as_json()) if form == "json" else compared(found, width), output)


def _cache_dir(given: str | None) -> str | None:
    from ..pipeline.settings import load_settings

    return given or load_settings(Path.cwd(), None).cache_dir
