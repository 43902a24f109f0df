"""`contract-lint hlo`: ledgers of and findings on a compiled program, from a dump, a capture or standard input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .options import LEDGER_FORMATS, PAGE_FORMATS, Wanted, findings_options, output_option

if TYPE_CHECKING:
    from ..pipeline.hlo import Stage


class Program:
    """Which program is looked at, as one decorator."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(
            (
                click.argument("source", metavar="FILE|CAPTURE|-"),
                click.option(
                    "--step", metavar="NAME", help="Step of a capture, or module of a dump, that holds several."
                ),
                click.option(
                    "--stage",
                    type=click.Choice(("optimized", "partitioned")),
                    default="optimized",
                    show_default=True,
                    help="Module of a capture: what runs, or what the partitioner made.",
                ),
                click.option("--mesh", metavar="AXES", help="Mesh of a dump, e.g. data=2,fsdp=4; names the axes."),
            )
        ):
            function = option(function)
        return function


program_options = Program()


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every ledger has."""
    return _with_formats(LEDGER_FORMATS, function)


def paged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a ledger that also makes a page."""
    return _with_formats(PAGE_FORMATS, function)


def _with_formats(formats: tuple[str, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    form = click.option("--format", "form", type=click.Choice(formats), default="text", help="Output format.")
    return program_options(form(output_option(function)))


@click.group("hlo")
def command() -> None:
    """A program by itself: HLO text or proto (gzip or not), a capture's folder, or - for standard input."""


@command.command("summary", short_help="Size, collectives, memory, host calls.")
@shared
def summary(**options: Any) -> None:
    """The program at a glance: size, collectives, memory, calls to the host."""
    from ..pipeline.hlo import summary_of

    _show(summary_of, options)


@command.command("collectives", short_help="Kind, axes, executions and bytes of each.")
@shared
@click.option("--raw", is_flag=True, help="Every instruction as printed; loops are multiplied all the same.")
def collectives(raw: bool, **options: Any) -> None:
    """Every collective: kind, mesh axes, executions, elements, bytes, source line.

    By what it does, however a compiler spells it: a sum of which only slices are used is a reduce-scatter, the permutes
    of a windowed product are the gather or scatter they make up, copies of an asynchronous one count once.
    """
    from ..pipeline.hlo import collectives_of

    _show(lambda program: collectives_of(program, raw), options)


@command.command("memory", short_help="What must fit, and what is live at the peak.")
@paged
def memory(**options: Any) -> None:
    """What must fit on one device, the buffers that are live at the peak, and what would shrink it.

    Also reads what a failed compile leaves: its dump folder, the memory-usage-report (.txt or .pb) in it, or the
    compiler's out-of-memory report, pasted whole or in part. The first line says what is missing and what to do first.
    """
    from ..pipeline.hlo import memory_or_report, parse_mesh
    from ..report.ledgers import render_ledger

    mesh = parse_mesh(options["mesh"]) if options["mesh"] else None
    found = memory_or_report(options["source"], step=options["step"], stage=options["stage"], mesh=mesh)
    _write(lambda width, color: render_ledger(found, options["form"], width, color), options)


@command.command("tensors", short_help="Placement and bytes of each argument.")
@shared
def tensors(**options: Any) -> None:
    """Every parameter, optimizer slot and batch input of a capture, with its placement and bytes."""
    from ..pipeline.hlo import tensors_of

    _show(tensors_of, options)


@command.command("roofline", short_help="FLOPs, bytes and the least time of a step.")
@shared
@click.option(
    "--target",
    metavar="TARGET",
    help="Hardware to bound the time on, e.g. tpu:v5e:4x4 or cuda:h100:1x8; default: a capture's own.",
)
@click.option(
    "--hardware",
    metavar="KIND",
    help="The kind alone, e.g. v5e or h100: the smallest slice, or hosts of eight, that hold the program.",
)
def roofline(target: str | None, hardware: str | None, **options: Any) -> None:
    """What one step asks of each device, and the least time that takes: a bound, never a prediction.

    Of a scheduled program also the time in the order in which it runs: where collectives are waited for, and which
    scopes and operations the time goes to.
    """
    from ..pipeline.hlo import roofline_of

    _show(lambda program: roofline_of(program, target, hardware), options)


@command.command("kernels", short_help="Where one kernel would move less memory.")
@shared
def kernels(**options: Any) -> None:
    """Hot spots that a fused kernel would spare: bytes moved now, the least a kernel would move, the line of source.

    Attention that writes its scores, a loss that writes its logits, softmaxes and norms in several kernels, products of
    gathered rows, gradients scattered into a table. Recognised by dataflow; what is a kernel already is none.
    """
    from ..pipeline.hlo import kernels_of

    _show(kernels_of, options)


@command.command("lint", short_help="What a program does that it need not do.")
@program_options
@findings_options
def lint(
    source: str,
    step: str | None,
    stage: Stage,
    mesh: str | None,
    wanted: Wanted,
) -> int:
    """Findings on a program by itself: no contract is needed. Also reads a compiler's log.

    Each names the instruction, the line of source and what it costs in a step. `contract-lint explain CODE` says more.
    """
    from ..pipeline.hlo import parse_mesh
    from ..pipeline.hlo_lint import lint as judged

    settings = wanted.settings()
    report = judged(
        source,
        step=step,
        stage=stage,
        mesh=parse_mesh(mesh) if mesh else None,
        select=settings.select,
        ignore=settings.ignore,
        fail_on=settings.fail_on,
    )
    return wanted.emit(report)


def _show(ledger_of: Callable[[Any], Any], options: dict[str, Any]) -> None:
    from ..pipeline.hlo import open_program, parse_mesh
    from ..report.ledgers import render_ledger

    mesh = parse_mesh(options["mesh"]) if options["mesh"] else None
    program = open_program(options["source"], step=options["step"], stage=options["stage"], mesh=mesh)
    ledger = ledger_of(program)
    _write(lambda width, color: render_ledger(ledger, options["form"], width, color), options)


def _write(view: Callable[[int, bool], str], options: dict[str, Any]) -> None:
    """`view(width, color)` to where it was asked for."""
    from ..report.text import DEFAULT_WIDTH
    from .output import terminal, write

    width, color = (None, False) if options["output"] else terminal()
    write(view(width or DEFAULT_WIDTH, color), options["output"])
