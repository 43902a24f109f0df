"""`contract-lint batch manifest`: the digests of a folder of data. Runs no user code, needs no jax."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import codes, findings_options, output_option

if TYPE_CHECKING:
    from ..pipeline.report import FailOn


@click.group("manifest", short_help="Which data it is: a digest of every shard.")
def command() -> None:
    """Which data it is: a digest of every shard and tokenizer file below a folder, and one of them all."""


@command.command("build")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--tokenizer",
    multiple=True,
    metavar="PATH",
    help="A file or folder below DIR that is the tokenizer's, if not named tokenizer.json, vocab.json, ...",
)
@output_option
def build(folder: str, tokenizer: tuple[str, ...], output: str | None) -> None:
    """Write the manifest of a folder: its shards by source (the first folder of their path), and its tokenizer.

    The same files always give the same text. Links are refused, and nothing outside DIR is read.
    """
    from ..pipeline.data_manifest import built, summary
    from .output import folded, write
    from .progress import progress

    with progress(lines=False) as told:
        manifest = built(folder, tokenizer, output, told)
    write(manifest.as_text(), output)
    if output:
        click.echo(folded(f"{output}: {summary(manifest)}"), err=True)


@command.command("check")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--manifest",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The manifest it must keep.  [default: DIR/data.manifest.json]",
)
@findings_options
def check(
    folder: str,
    manifest: str | None,
    form: str,
    output: str | None,
    fail_on: FailOn | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    config: str | None,
) -> int:
    """Findings on a folder: shards that changed, are gone, or are new.

    Names in the manifest are compared with what is there and never opened.
    """
    from ..pipeline.data_manifest import check_manifest
    from ..pipeline.settings import load_settings
    from .output import emit
    from .progress import progress

    settings = load_settings(Path.cwd(), config).with_options(codes(select), codes(ignore), fail_on)
    with progress(lines=False) as told:
        report = check_manifest(
            folder,
            manifest,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            on_progress=told,
        )
    return emit(report, form, output)
