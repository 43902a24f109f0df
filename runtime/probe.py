"""The child process of `batch check --probe`: a step's losses on a real batch, once as it is and once for each change.

`python -m contract_lint.runtime.probe REQUEST REPORT FD`, as `worker` says. The loss of each token comes from the
step's `token_losses`; else it is the gradient of the first of its `loss_terms` by a floating loss mask, its factor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from ..contracts.probe import Moved, ProbeFacts
from .request import ChildFailure, ChildRequest, Message, StepFailure
from .worker import Progress, leave, require, serve


class ProbeRequest(Message):
    """One step, the arrays of a batch (a .npz) and the changes to its tokens and targets: (row, column, what is put
    there).

    `tokens`, `targets` and `mask` name the arrays that play these parts.
    """

    child: ChildRequest
    arrays: str
    tokens: str | None
    mask: str | None
    targets: str | None = None
    changes: list[tuple[int, int, int]] = Field(default_factory=list)
    target_changes: list[tuple[int, int, int]] = Field(default_factory=list)


class ProbeReport(Message):
    """What was seen, or why nothing was."""

    failure: ChildFailure | None = None
    facts: ProbeFacts | None = None


def probe(request: ProbeRequest, progress: Progress) -> ProbeReport:
    """Build the step and probe it. Raises StepFailure for what the user's code raises or does not offer."""
    child = request.child
    require(child.target, child.effort)
    progress(f"starting {child.target}")
    from . import build
    from .errors import failure
    from .requested import configure
    from .targets import target

    chosen = target(child.target, child.effort)
    paths = configure(chosen, child)
    step = child.steps[0]
    mesh = build.make_mesh(child.mesh, chosen) if child.mesh else None
    progress(f"{step.name}: import")
    builder = build.load_builder(step, paths)
    try:
        progress(f"{step.name}: build")
        made = build.call_build(builder, step, step.args, mesh, step.static)
        return ProbeReport(facts=_probed(request, made, paths, progress))
    except BaseException as error:  # SystemExit and the like end the user's code here, not this process
        raise failure(error, paths, "probing the step", ("step", step.name)) from None


def _probed(request: ProbeRequest, step: Any, paths: Any, progress: Progress) -> ProbeFacts:
    import jax
    import numpy as np

    from .run.draw import draw
    from .run.example import example_of
    from .run.functions import context_of
    from .run.values import HostValue, host_values, key_of, named_leaves, place

    name = request.child.steps[0].name
    with np.load(request.arrays, allow_pickle=False) as file:
        arrays = {each: file[each] for each in file.files}
    values = host_values(step, *example_of(step, 0, paths)) if step.example is not None else draw(step, 0)
    leaves = {key_of(argument, path): leaf for argument, path, leaf in named_leaves(step, step.args, step.kwargs)}
    taken = {leaf.rpartition("/")[2]: leaf for leaf in leaves if leaf.rpartition("/")[2] in arrays}
    for field, leaf in taken.items():
        wanted, there = tuple(leaves[leaf].shape), arrays[field].shape
        if wanted != there:
            raise StepFailure(
                f"`{leaf}` of the step is {list(wanted)}, and `{field}` of the batch is {list(there)}",
                help="probe a batch of the shape that the step is built for",
            )
        values[leaf] = HostValue(arrays[field], spec=values[leaf].spec)
    if not taken:
        raise StepFailure(
            f"none of the batch's arrays ({', '.join(arrays)}) is an input of the step ({', '.join(leaves)})",
            help="name the arrays as the step names its inputs",
        )
    progress(f"{name}: trace")
    with context_of(step):
        args, kwargs = place(step, values, None)
        dead = _dead(step, args, kwargs)
        how, losses = _token_losses(step, taken, request.mask)
        facts = ProbeFacts(
            step=name,
            fields=sorted(taken),
            dead=sorted(field for field, leaf in taken.items() if leaf in dead),
            how=how,
            terms=_terms(step, args, kwargs),
        )
        if losses is None:
            return facts
        call = jax.jit(losses)
        before = np.asarray(call(args, kwargs))

        def moved(field: str | None, word: str, changes: list[tuple[int, int, int]]) -> list[Moved]:
            if field is None or field not in taken:
                return []
            leaf, found = taken[field], []
            for row, column, put in changes:
                progress(f"{name}: changing the {word} at row {row}, column {column}")
                changed = np.array(arrays[field])
                changed[row, column] = put
                other = {**values, leaf: HostValue(changed, spec=values[leaf].spec)}
                found.append(_moved(row, column, before, np.asarray(call(*place(step, other, None)))))
            return found

        tokens = moved(request.tokens, "token", request.changes)
        answered = moved(request.targets, "target", request.target_changes)
    return facts.model_copy(update={"moved": tokens, "answered": answered})


def _dead(step: Any, args: Any, kwargs: Any) -> set[str]:
    """Inputs that no output of the step depends on."""
    from jax.interpreters import partial_eval

    from .run.functions import traced_jaxpr
    from .run.values import key_of, named_leaves

    jaxpr = traced_jaxpr(step.jitted, args, kwargs)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    _, used = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    # Keyword arguments are flattened by name.
    listed = named_leaves(step, args, dict(sorted(kwargs.items())))
    if len(listed) != len(used):
        return set()
    return {key_of(argument, path) for (argument, path, _), live in zip(listed, used, strict=True) if not live}


def _token_losses(
    step: Any, taken: Mapping[str, str], mask: str | None
) -> tuple[str | None, Callable[[Any, Any], Any] | None]:
    """How the loss of each token is read, and a function of the arguments that gives them, [rows, columns]."""
    import jax
    import jax.numpy as jnp

    from .run.values import key_of, named_leaves

    if step.token_losses is not None:
        return "token_losses", lambda args, kwargs: step.token_losses(*args, **kwargs)
    leaf = taken.get(mask or "")
    if step.loss_terms is None or leaf is None:
        return None, None
    found = {key_of(argument, path): value for argument, path, value in named_leaves(step, step.args, step.kwargs)}
    if not jnp.issubdtype(found[leaf].dtype, jnp.floating):
        return None, None

    def by_mask(args: Any, kwargs: Any) -> Any:
        named = [key_of(argument, path) for argument, path, _ in named_leaves(step, args, kwargs)]
        leaves, tree = jax.tree.flatten((args, kwargs))
        at = named.index(leaf)

        def total(mask: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, [*leaves[:at], mask, *leaves[at + 1 :]])
            return next(iter(step.loss_terms(*args, **kwargs).values()))[0]

        return jax.grad(total)(leaves[at])

    return f"the gradient of loss_terms by {mask}", by_mask


def _terms(step: Any, args: Any, kwargs: Any) -> dict[str, tuple[float, float]]:
    """The terms of the loss on this batch as (sum, denominator)."""
    import jax

    if step.loss_terms is None:
        return {}
    terms = jax.jit(step.loss_terms)(*args, **kwargs)
    return {name: (float(total), float(denominator)) for name, (total, denominator) in terms.items()}


def _moved(row: int, column: int, before: Any, after: Any) -> Moved:
    import numpy as np

    moved = (before != after) & ~(np.isnan(before) & np.isnan(after))
    change = np.abs(after[row].astype(np.float64) - before[row].astype(np.float64))
    losses = {column: float(change[column]) for column in np.flatnonzero(moved[row]).tolist()}
    others = [int(other) for other in np.flatnonzero(moved.any(axis=1)) if other != row]
    return Moved(row=row, column=column, losses=losses, elsewhere=others)


if __name__ == "__main__":
    leave(serve(sys.argv[1:], ProbeRequest, probe, lambda _, failure: ProbeReport(failure=failure)))
