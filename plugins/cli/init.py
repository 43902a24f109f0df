"""`contract-lint init`: a first contract from a real step."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import cache_dir_option, python_option, timeout_option

NOTHING_WRITTEN = (
    "no contract was written: make the step smaller (--arg), or name a --target with more devices or memory"
)
"""What is said of a step that does not fit a device."""

if TYPE_CHECKING:
    from ..pipeline.report import Report


@click.command("init")
@click.argument("entry")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--target", metavar="T", help="What to compile for, e.g. cpu:8.")
@click.option("--mesh", metavar="AXES", help="Mesh to build over the devices, e.g. data=2,fsdp=4.")
@click.option(
    "--arg", "args", multiple=True, metavar="NAME=VALUE", help="Argument of the build function; VALUE is YAML."
)
@click.option("--path", "path", multiple=True, type=click.Path(), help="Folder to put on sys.path; may be repeated.")
@click.option("--name", help="Name of the contract.  [default: from the module]")
@click.option(
    "-o", "--out", type=click.Path(), metavar="FILE", help="Contract to write.  [default: NAME.contract.yaml]"
)
@click.option("--no-run", is_flag=True, help="Compile only: what needs a run, such as compiles, is not promised.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@python_option
@timeout_option
@cache_dir_option
def command(
    entry: str,
    words: tuple[str, ...],
    target: str | None,
    mesh: str | None,
    args: tuple[str, ...],
    path: tuple[str, ...],
    name: str | None,
    out: str | None,
    no_run: bool,
    force: bool,
    python: str | None,
    timeout: int | None,
    cache_dir: str | None,
) -> int:
    """Write a first contract for the step that ENTRY (module:function) builds.

    The step is built, compiled and run for a few steps, in a child process; what it does becomes the promise to
    review. The contract passes `verify --run` as it is written. Of a step that does not fit a device none is written.

    ENTRY may also be `maxtext:FILE.yml`, a MaxText configuration; KEY=VALUE are keys of it, as on MaxText's own command
    line, and the target is cpu:8 unless given.
    """
    from ...contracts.errors import ContractLintError
    from ...contracts.finding import Location
    from ...runtime.adapters import adapter_for
    from ..pipeline.hlo import parse_mesh
    from ..pipeline.init import first_contract
    from ..pipeline.settings import load_settings
    from .output import emit, folded
    from .progress import progress

    adapted = adapter_for(entry)
    if adapted is not None:
        if mesh or args or path:
            raise click.UsageError(f"--mesh, --arg and --path are the configuration's to say: write {entry} KEY=VALUE")
        target = target or adapted[0].target
    if adapted is None and words:
        raise click.UsageError(f"unexpected {words[0][:60]!r}: a build function takes --arg NAME=VALUE")
    if target is None:
        raise click.UsageError("--target is needed, e.g. --target cpu:8")
    module = entry.partition(":")[0].rpartition(".")[2] or "train"
    stem = f"maxtext-{Path(adapted[1]).stem}" if adapted else module
    file = Path(out or f"{name or stem}.contract.yaml")
    if not file.name.endswith(".contract.yaml"):
        raise click.UsageError(f"-o {file}: a contract's name ends with .contract.yaml")
    if os.path.exists(file) and not force:
        raise ContractLintError("exists already", Location(file.as_posix()), "choose another file with -o, or --force")
    request: dict[str, Any] = {
        "entry": entry,
        "name": name,
        "args": dict(_argument(text, "--arg ") for text in args),
        "path": path,
    }
    if adapted is not None:
        found = adapted[0].adapt(adapted[1], dict(map(_argument, words)), target, file.parent)
        request = {
            "entry": found.entry,
            "name": name or found.name,
            "args": found.args,
            "reference_args": found.reference_args,
            "config": found.config,
            "bindings": found.bindings,
        }
    axes = dict(parse_mesh(mesh).axes) if mesh else None
    with progress() as say:
        report = first_contract(
            out=file,
            target=target,
            mesh=axes,
            run=not no_run,
            python=python,
            timeout=timeout,
            cache_dir=cache_dir or load_settings(Path.cwd()).cache_dir,
            say=say,
            **request,
        )
    code = emit(report, "text", None)
    if not report.contracts:
        click.echo(f"\n{folded(NOTHING_WRITTEN, err=False)}")
        return code
    for line in _accepted(report):
        click.echo(folded(line, "    ", err=False))
    ran = any(tables.run is not None for tables in report.tables)
    without = "" if ran else " (the step was not run, its last lines say why)"
    name = shlex.quote(file.as_posix())
    said = f"wrote {file.as_posix()}{without}; read it, then: contract-lint verify {name}{' --run' * ran}"
    click.echo(f"\n{folded(said, err=False)}")
    return code


def _accepted(report: Report) -> list[str]:
    """What the contract accepts so that it passes, for the reader to mend or to give a reason for."""
    found = [root.finding for root in report.roots() if root.finding.status == "accepted"]
    if not found:
        return []
    lines = [f"  {each.code} {each.name}: {each.message}" + (f"; {each.help}" if each.help else "") for each in found]
    return ["\naccepted as found, so that the contract passes; mend each, or give your reason in `deviations`:", *lines]


def _argument(text: str, option: str = "") -> tuple[str, Any]:
    """NAME=VALUE, VALUE as YAML; `option` is what stands before it on the command line."""
    from ...contracts.yaml_nodes import Source, Unreadable, decode, plain, read_yaml

    name, equals, value = text.partition("=")
    if not name.isidentifier() or not equals:
        raise click.UsageError(f"{option}{text[:60]!r}: expected NAME=VALUE")
    source = Source(Path(), "VALUE")
    try:
        tree, repeated = read_yaml(decode(value.encode("utf-8", "surrogateescape"), source), source)
    except Unreadable as error:
        raise click.UsageError(f"{option}{name[:60]}: {error}") from None
    if repeated:
        raise click.UsageError(f"{option}{name[:60]}: {repeated[0].message}")
    return name, None if tree is None else plain(tree)
