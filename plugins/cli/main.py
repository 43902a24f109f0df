"""`contract-lint`: the group of verbs. Nothing beyond click is imported until a verb is called."""

from __future__ import annotations

import atexit
import gc
from importlib import import_module

import click

from ... import __version__

VERBS: dict[str, str] = {
    "check": "Check contracts and Python source, without running any code.",
    "init": "Write a first contract by looking at a real step.",
    "capture": "Trace, lower and compile a contract's steps into a folder.",
    "verify": "Hold the steps of a contract to their promises (runs your code).",
    "lock": "Compare what each parameter means in training with the committed summary.",
    "hlo": "A compiled program: its collectives, memory, cost, and what it need not do.",
    "diff": "What changed in meaning between two programs or captures.",
    "batch": "A batch by itself: what is wrong with it, and what each token means.",
    "checkpoint": "A saved state: whether it is complete, and what it holds.",
    "record": "An experiment record: what a result rests on, bound by digests.",
    "history": "The records of this project: list, compare, plot.",
    "targets": "List what this machine can compile for, and what is missing.",
    "train": "Run the reference trainer.",
    "explain": "Explain a rule by its code or name.",
    "rules": "List the rules.",
    "schema": "Print the JSON Schema of contracts, for editors.",
}


class Verbs(click.Group):
    """Verbs by name; the module of a verb is imported when the verb is called or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        from .color import with_color

        return with_color(import_module(f".{cmd_name}", __package__).command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from ...contracts.suggest import nearest

            near = nearest(args[0], VERBS)
            hint = f" Did you mean `{near}`?" if near else f" Verbs: {', '.join(VERBS)}."
            ctx.fail(f"No such verb {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="contract-lint", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, envvar="CONTRACT_LINT_DEBUG", help="Show the traceback of an internal error.")
@click.pass_context
def group(ctx: click.Context, debug: bool) -> None:
    """Hold a sharded JAX training step to its contract.

    A contract (*.contract.yaml) promises placements, collectives, memory and numerics of a step; `verify`
    compiles the step and reports where the program differs. Exit codes: 0 clean, 1 findings, 2 wrong usage or
    unreadable input, 3 a bug in contract-lint.
    """
    ctx.obj = {"debug": debug}


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    # What a verdict is made of lives until it is printed; looking for garbage takes a quarter of the time.
    gc.set_threshold(100_000, 50, 50)
    from .boundary import run

    # The interpreter looks for garbage before it ends, though all of its memory is about to be given back.
    atexit.register(gc.freeze)
    raise SystemExit(run(group, argv))
