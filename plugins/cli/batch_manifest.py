"""`contract-lint batch manifest`: the digests of a folder of data. Runs no user code, needs no jax."""

from __future__ import annotations

import click

from .options import Wanted, findings_options, output_option


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
    wanted: Wanted,
) -> int:
    """Findings on a folder: shards that changed, are gone, or are new.

    Names in the manifest are compared with what is there and never opened.
    """
    from ..pipeline.data_manifest import check_manifest
    from .progress import progress

    settings = wanted.settings()
    with progress(lines=False) as told:
        report = check_manifest(
            folder,
            manifest,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            on_progress=told,
        )
    return wanted.emit(report)
