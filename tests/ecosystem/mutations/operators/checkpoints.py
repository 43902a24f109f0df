"""Checkpoints that leave out a state, or are resumed at the wrong step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..operator import Edits, Site, operator
from ..traced import reads, targets

MANAGER = "orbax.checkpoint"
OPTIMIZERS = ("opt_state", "optimizer_state", "optim_state")


def host_loops(site: Site) -> Iterator[ast.For]:
    """Loops of functions on the host whose last statement a line can be written after."""
    for function in site.source.functions:
        for loop in site.loops(function) if not site.is_traced(function) else ():
            last = loop.body[-1]
            if site.source.alone(last) and site.source.alone(loop) and not isinstance(last, (ast.Return, ast.Break)):
                yield loop


def manager(site: Site, loop: ast.For) -> Edits:
    """The import, and a line before a loop, that make a manager of checkpoints."""
    orbax, imported = site.source.name_of(MANAGER)
    return *imported, site.source.before(loop, f'_manager = {orbax}.CheckpointManager("/checkpoints")', marked=False)


def stepped(site: Site, loop: ast.For) -> list[str]:
    """Names that a call in the loop itself brings on: it takes them and gives them anew."""
    calls = [stmt for stmt in loop.body if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call)]
    names = [(stmt.value, target.id) for stmt in calls for target in targets(stmt) if site.source.alone(stmt)]
    return [name for value, name in names if reads(value, name)]


@operator("CKP101")
def parameters_are_saved_alone(site: Site) -> Iterator[Edits]:
    """A loop that brings on parameters and an optimizer's state saves the parameters in every round."""
    for loop in host_loops(site):
        names = stepped(site, loop)
        optimizer = next((each for each in names if each in OPTIMIZERS), None)
        params = next((each for each in names if "param" in each), None)
        if optimizer is not None and params is not None:
            line = f'_manager.save(0, {{"params": {params}}})'
            yield *manager(site, loop), site.source.after(loop.body[-1], line)


@operator("CKP101")
def loop_saves_parameters_alone(site: Site) -> Iterator[Edits]:
    """A new loop around an optimizer of the file."""
    orbax, imported = site.source.name_of(MANAGER)
    last = site.source.tree.body[-1]
    if "optax" in site.source.aliases and site.source.alone(last) and not site.has_kernels:
        head = (
            "",
            "",
            "def _fit(train_step, params, tx, batches):",
            f'    manager = {orbax}.CheckpointManager("/checkpoints")',
            "    opt_state = tx.init(params)",
            "    for number, batch in enumerate(batches):",
            "        params, opt_state, loss = train_step(params, opt_state, batch)",
            "        if number % 100 == 0:",
            "            print(loss)",
        )
        begin = site.source.after(last, *head, marked=False)
        yield *imported, begin, site.source.after(last, '        manager.save(number, {"model": params})')


@operator("CKP102")
def loop_starts_at_the_last_checkpoint(site: Site) -> Iterator[Edits]:
    """`for step in range(n)` of the host starts at the newest checkpoint, and saves each round under its number."""
    for loop in host_loops(site):
        call, names = loop.iter, stepped(site, loop)
        plain = isinstance(call, ast.Call) and site.source.dotted(call.func) == "range" and len(call.args) in (1, 2)
        plain = plain and not site.has_kernels and isinstance(loop.target, ast.Name)
        if plain and isinstance(call, ast.Call) and isinstance(loop.target, ast.Name) and names:
            end = site.source.text(call.args[-1])
            begin = site.source.replace(call, f"range(_manager.latest_step() or 0, {end})")
            save = f"_manager.save({loop.target.id}, {names[-1]})"
            yield *manager(site, loop), begin, site.source.after(loop.body[-1], save, marked=False)


@operator("CKP102")
def new_loop_resumes_at_the_saved_step(site: Site) -> Iterator[Edits]:
    """A new training loop around an optimizer of the file."""
    orbax, imported = site.source.name_of(MANAGER)
    last = site.source.tree.body[-1]
    if "optax" in site.source.aliases and site.source.alone(last) and not site.has_kernels:
        head = (
            "",
            "",
            "def _train(train_step, state, batches, total):",
            f'    manager = {orbax}.CheckpointManager("/checkpoints")',
            "    start = manager.latest_step()",
            "    if start is None:",
            "        start = 0",
        )
        begin = site.source.after(last, *head, marked=False)
        loop = site.source.after(last, "    for step in range(start, total):")
        body = ("        state, loss = train_step(state, next(batches))", "        manager.save(step, state)")
        yield *imported, begin, loop, site.source.after(last, *body, marked=False)
