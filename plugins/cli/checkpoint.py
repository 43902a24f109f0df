"""`contract-lint checkpoint`: a saved state by itself, or held to a contract; `resume` alone runs code."""

from __future__ import annotations

import click

from .options import Wanted, findings_options, output_option, python_option, timeout_option

step_option = click.option("--step", type=int, metavar="N", help="This step.  [default: the newest committed one]")


@click.group("checkpoint")
def command() -> None:
    """A checkpoint on disk: Orbax (OCDBT or zarr), a step or a folder of steps; or .safetensors files."""


@command.command("check", short_help="Whether a checkpoint is complete, and what is promised.")
@click.argument("path", metavar="PATH", type=click.Path())
@click.option(
    "--contract", type=click.Path(dir_okay=False), metavar="FILE", help="The contract whose `checkpoint` it must keep."
)
@step_option
@click.option(
    "--digests",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Read every file and compare with what `checkpoint digests` wrote.",
)
@findings_options
def check(
    path: str,
    contract: str | None,
    step: int | None,
    digests: str | None,
    wanted: Wanted,
) -> int:
    """Findings on a checkpoint: what is uncommitted, missing, cut, of another shape or dtype, or without its slots.

    Only metadata is read. Without a contract only what every checkpoint should keep is checked.
    """
    from ..pipeline.checkpoint import check_checkpoint
    from .progress import progress

    settings = wanted.settings()
    with progress(lines=False) as told:
        report = check_checkpoint(
            path,
            step=step,
            contract=contract,
            digests=digests,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            on_progress=told,
        )
    return wanted.emit(report)


@command.command("digests", short_help="Write the digest of every file of a step.")
@click.argument("path", metavar="PATH", type=click.Path())
@step_option
@output_option
def digests(path: str, step: int | None, output: str | None) -> None:
    """Write the sha256 of every file of a step, for `checkpoint check --digests`. Reads every file once."""
    from ..pipeline.checkpoint import digests_of
    from .output import folded, write
    from .progress import progress

    with progress(lines=False) as told:
        manifest = digests_of(path, step, output, told)
    write(manifest.as_text(), output)
    if output:
        click.echo(folded(f"{output}: {len(manifest.files):,} files, root {manifest.root[:19]}"), err=True)


@command.command("convert", short_help="Write it in another layout, bit for bit.")
@click.argument("path", metavar="PATH", type=click.Path())
@click.argument("out", metavar="OUT", type=click.Path())
@click.option("--mapping", type=click.Path(dir_okay=False), metavar="FILE", help="Rules: which array gets which name.")
@click.option("--reverse", is_flag=True, help="Read the rules from `to` to `from`: the way back.")
@click.option(
    "--separator",
    type=click.Choice((".", "/")),
    default=".",
    show_default=True,
    help="What stands between the parts of a name in .safetensors.",
)
@step_option
def convert(path: str, out: str, mapping: str | None, reverse: bool, separator: str, step: int | None) -> None:
    """Write the arrays of PATH to OUT: a file that ends in .safetensors, or else a folder that Orbax restores.

    Every array must be named by a rule, or be left out by one. OUT is there once all of it was written, read again and
    found equal; what is there already is never replaced. Memory does not grow with the arrays.
    """
    from ..pipeline.convert.convert import convert
    from .output import folded
    from .progress import progress

    if reverse and mapping is None:
        raise click.UsageError("--reverse needs --mapping")
    with progress(lines=False) as told:
        done = convert(path, out, mapping=mapping, reverse=reverse, step=step, separator=separator, on_progress=told)
    click.echo(folded(done.verdict, err=False))


@command.command("diff", short_help="What one checkpoint holds otherwise than another.")
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@click.option("--no-values", is_flag=True, help="Leaves, shapes and dtypes alone: reads no array.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="Output format.")
@output_option
def diff(a: str, b: str, no_values: bool, form: str, output: str | None) -> None:
    """Leaves that are gone or new, shapes, dtypes, texts, JSON key by key.

    And of values that differ how many, how far, and what is not finite.

    Layouts may differ. Arrays are read in blocks, so that memory does not grow with them.
    """
    from ..pipeline.checkpoint_diff import checkpoint_diff
    from ..report.checkpoint_diff import text
    from ..report.json import dumps
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write
    from .progress import progress

    with progress(lines=False) as told:
        found = checkpoint_diff(a, b, values=not no_values, on_progress=told)
    width = (None if output else terminal()[0]) or DEFAULT_WIDTH
    write(dumps(found.as_json()) if form == "json" else text(found, width), output)


@command.command("resume", short_help="Run a contract's step, kill it, take it up again, compare.")
@click.argument("contract", type=click.Path())
@click.option("--step", "name", metavar="NAME", help="This step of the contract.  [default: its first]")
@click.option("--target", metavar="T", help="Where to run, e.g. cpu:8.  [default: the first that executes here]")
@click.option("--steps", type=click.IntRange(min=4), default=6, show_default=True, help="Steps of the whole run.")
@click.option(
    "--mesh",
    "meshes",
    multiple=True,
    metavar="AXES",
    help="Restore onto this mesh too, e.g. data=4,fsdp=2; may be repeated.  [default: two over the same axes]",
)
@click.option("--strict", is_flag=True, help="A warm start is an error.")
@python_option
@timeout_option
@findings_options
def resume(
    contract: str,
    name: str | None,
    target: str | None,
    steps: int,
    meshes: tuple[str, ...],
    strict: bool,
    python: str | None,
    timeout: int | None,
    wanted: Wanted,
) -> int:
    """Run the step of CONTRACT unbroken; and again, killed while it saves, up to three times, and taken up each time.

    Values, batches, random keys, learning rate and state must be equal to the bit, on other meshes the state too. This
    imports and runs your build function, in child processes.
    """
    from ..pipeline.hlo import parse_mesh
    from ..pipeline.resume import Options, check_resume
    from .progress import progress

    settings = wanted.settings()
    chosen = [dict(parse_mesh(text).axes) for text in meshes] or None
    with progress() as say:
        report = check_resume(
            contract,
            Options(name, target, steps, chosen, python, timeout),
            strict=strict,
            select=settings.select,
            ignore=settings.ignore,
            fail_on=settings.fail_on,
            say=say,
        )
    return wanted.emit(report)
