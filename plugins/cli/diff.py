"""`contract-lint diff`: what one program does otherwise than another, in meaning."""

from __future__ import annotations

import click

from .options import output_option

FORMATS = ("text", "markdown", "json", "html")


def _epilog() -> str:
    """The conditions of --threshold, as the help lists them."""
    from ...hlo_tools.diff.thresholds import WORDS
    from ...hlo_tools.diff.totals import METRICS

    lines = [
        "\b",
        "Figures of --threshold (FIGURE>+N% or FIGURE>+N more than A, FIGURE>N in B; N may have KiB, MiB, GiB):",
    ]
    lines += [f"  {name:<15}{what}" for name, (_, what) in METRICS.items()]
    lines += ["", "\b", "Words of --threshold:"]
    lines += [f"  {name:<15}{what}" for name, (what, _) in WORDS.items()]
    return "\n".join(lines)


class _Command(click.Command):
    """Its help lists the thresholds; they are read only when it is asked for."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = _epilog()
        super().format_epilog(ctx, formatter)


@click.command("diff", cls=_Command, short_help="What changed in meaning between two programs.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output format.")
@output_option
@click.option("--step", metavar="NAME", help="Step of captures that hold several.")
@click.option(
    "--stage",
    type=click.Choice(("optimized", "partitioned")),
    default="optimized",
    show_default=True,
    help="Module of captures: what runs, or what the partitioner made.",
)
@click.option("--mesh", metavar="AXES", help="Mesh of dumps, e.g. data=2,fsdp=4; names the axes.")
@click.option(
    "--threshold", metavar="CONDITIONS", help="Exit with 1 where one is met, e.g. ring_bytes>+1%,new-collective."
)
def command(
    a: str, b: str, form: str, output: str | None, step: str | None, stage: str, mesh: str | None, threshold: str | None
) -> int:
    """What program B does otherwise than A: the cause first, then what follows from it.

    A and B are files of HLO text or proto (gzip or not), folders of captures or of dumps (--xla_dump_to), or - for
    standard input. Names, ids, numbering and the order of independent instructions are no difference; layers are
    counted together.
    """
    from ..pipeline.diff import diff_of
    from ..pipeline.hlo import parse_mesh
    from ..report.diff import render_diff
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    found = diff_of(
        a,
        b,
        step=step,
        stage="partitioned" if stage == "partitioned" else "optimized",
        mesh=parse_mesh(mesh) if mesh else None,
        thresholds=threshold,
    )
    width, color = (None, False) if output else terminal()
    write(render_diff(found, form, width or DEFAULT_WIDTH, color), output)
    if output:
        from ..report.diff import headline

        click.echo(headline(found), err=True)
    return found.exit_code
