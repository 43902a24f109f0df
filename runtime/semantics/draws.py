"""Whether each microbatch and each step draws random numbers of its own.

Every microbatch gets the same rows. Only one of them counts its targets; which one decides nothing but which random
numbers the gradient is made with. So two gradients are equal exactly where two microbatches draw the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ...contracts.semantics import DrawsFact
from ..run.functions import context_of, traced_jaxpr
from ..run.narrow import equations
from ..run.values import HostValue, host_values, place
from ..step import NormalisedStep
from .counting import only_rows
from .gradient import GradientFunction, compiled
from .inputs import Inputs, microbatches
from .terms import Vector, added, inner

DRAWS = ("random_bits", "threefry", "rng_", "random_gamma")
"""Primitives that make random numbers; deriving a key from another makes none."""


def draws(
    step: NormalisedStep, values: Mapping[str, HostValue], inputs: Inputs, mesh: Mesh | None, count: int, order: str
) -> DrawsFact:
    """What a step with `count` microbatches draws. Exceptions of user code and of JAX pass through."""
    assert step.loss_and_grads is not None
    with context_of(step):
        jaxpr = traced_jaxpr(jax.jit(step.loss_and_grads), step.args, step.kwargs)
    if not any(eqn.primitive.name.startswith(DRAWS) for eqn in equations(jaxpr)):
        return DrawsFact(random=False)
    gradient = GradientFunction(step, mesh, False)
    first = gradient(values)[1]
    later = gradient(_a_step_later(step, values, inputs, mesh))[1]
    between = None
    if count > 1 and inputs.mask is not None:
        same = _same_rows(values, inputs, count, order)
        alone = [
            gradient(only_rows(same, inputs, rows))[1] for rows in microbatches(inputs.sequences, count, order)[:2]
        ]
        between = _apart(alone[0], alone[1])
    return DrawsFact(random=True, microbatches=between, steps=_apart(first, later))


def _same_rows(values: Mapping[str, HostValue], inputs: Inputs, count: int, order: str) -> dict[str, HostValue]:
    """Every microbatch holds the rows of the first."""
    result = dict(values)
    rows = microbatches(inputs.sequences, count, order)
    for name in inputs.batch:
        array = np.array(values[name].array)
        for piece in rows[1:]:
            array[piece] = array[rows[0]]
        result[name] = HostValue(array, values[name].key, values[name].spec)
    return result


def _a_step_later(
    step: NormalisedStep, values: Mapping[str, HostValue], inputs: Inputs, mesh: Mesh | None
) -> dict[str, HostValue]:
    """The values with the counters and keys that one step leaves behind; parameters and slots stay as they are.

    Counters alone count on by one; only a key has to be made by the step itself.
    """
    others = {name: value for name, value in values.items() if name not in (*inputs.batch, *inputs.names)}
    if not any(_may_be_key(name, value) for name, value in others.items()):
        return {**values, **{name: HostValue(value.array + 1) for name, value in others.items() if _counts(value)}}
    with context_of(step):
        args, kwargs = place(step, values, mesh)
        out = compiled(step, step.fn)(*args, **kwargs)
        outputs = out if isinstance(out, tuple | list) else (out,)
        # The step may have donated its arguments.
        args, kwargs = place(step, values, mesh)
        named: dict[str, Any] = {**dict(zip(step.positional_names, args, strict=True)), **kwargs}
        for position, name in step.carry.items():
            named[name] = outputs[position]
        args = tuple(named[name] for name in step.positional_names)
        after = host_values(step, args, {name: named[name] for name in step.kwargs})
    moved = [name for name, value in others.items() if _may_be_key(name, value) or _counts(value)]
    return {**values, **{name: after[name] for name in moved}}


def _may_be_key(name: str, value: HostValue) -> bool:
    """A typed key, or an old one: some words of uint32."""
    return value.key is not None or (
        not value.is_python and value.array.dtype == np.uint32 and value.array.shape[-1:] in ((2,), (4,))
    )


def _counts(value: HostValue) -> bool:
    return value.key is None and not value.is_python and value.array.ndim == 0 and value.array.dtype.kind in "iu"


def _apart(one: Vector, other: Vector) -> float | None:
    """|one - other| relative to the longer of both."""
    size = max(inner(one, one), inner(other, other))
    difference = added(one, other, -1.0)
    return float(f"{(inner(difference, difference) / size) ** 0.5:.6g}") if size else None
