"""What one step does to each parameter: how far it was clipped, decayed and moved.

The optimizer's slots tell what it was given: after Adam's update m' = b1 m + (1 - b1) a, so a = (m' - b1 m) / (1 - b1),
and the direction it moves in is u = (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps). A parameter p then changes by
d = -rate (u + decay p): both numbers follow from inner products of d, u and p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from ...contracts.semantics import ParameterFact, UpdateFact
from ..leaves import joined, key_name
from ..run.evaluate import FIRST_MOMENTS, SECOND_MOMENTS
from ..run.functions import context_of
from ..run.values import HostValue, key_of, named_leaves, place
from ..step import NormalisedStep
from .gradient import GradientFunction, compiled
from .inputs import Inputs
from .start import described
from .terms import Vector, inner

UPDATES = 3
"""Steps after which a parameter must have moved; a warm-up from zero moves none in the first."""


@dataclass(frozen=True, slots=True)
class Adam:
    """Constants of the declared optimizer, as optax calls them; b1 is the momentum of plain SGD too."""

    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8


def first_update(
    step: NormalisedStep,
    values: Mapping[str, HostValue],
    start: Mapping[str, HostValue],
    inputs: Inputs,
    mesh: Mesh | None,
    constants: Adam,
    gradient: GradientFunction,
    vector: Vector,
    pieces: Mapping[str, Vector],
) -> tuple[UpdateFact | None, dict[str, float]]:
    """The first update that changes a parameter (None where the step carries no parameters on), and what it reports.

    start: the values before they were moved for the probe. gradient: the step's, which gives `vector` for `values`;
    pieces: the gradients of each microbatch by itself, for the same.
    """
    wide = gradient.wide
    position = next((p for p, name in step.carry.items() if name == inputs.names[0].partition("/")[0]), None)
    run = compiled(step, step.fn)
    with context_of(step):
        args, kwargs = place(step, values, mesh, wide)
        for index in range(UPDATES):
            before = _arrays(step, args, kwargs)
            out = run(*args, **kwargs)
            outputs = out if isinstance(out, tuple | list) else (out,)
            reported = _reported(step, outputs)
            if position is None:
                return None, reported
            after = _state(inputs, outputs[position])
            if any(np.any(after[name] != before[name]) for name in inputs.names) or index == UPDATES - 1:
                break
            values = {**values, **_carried(step, values, outputs)}
            args, kwargs = place(step, values, mesh, wide)
            vector = gradient(values)[1]
    moves = _Moves(inputs, before, after, constants, index)
    facts = [
        _parameter(path, name, moves, leaf, step, start)
        for (path, name), leaf in zip(inputs.parameters.items(), vector, strict=True)
    ]
    given = _along(pieces, [moves.given(path) for path in inputs.parameters]) if index == 0 else {}
    return UpdateFact(index=index, parameters=facts, given=given), reported


def _along(pieces: Mapping[str, Vector], given: list[np.ndarray | None]) -> dict[str, float]:
    """Inner products of what the optimizer was given with each vector; none where a first moment is not there."""
    known = [each for each in given if each is not None]
    return {name: inner(known, vector) for name, vector in pieces.items()} if len(known) == len(given) else {}


def _arrays(step: NormalisedStep, args: Any, kwargs: Any) -> dict[str, np.ndarray]:
    """Every floating input and counter on the host. The step may donate them."""
    return {
        key_of(argument, path): np.array(leaf)
        for argument, path, leaf in named_leaves(step, args, kwargs)
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    }


def _state(inputs: Inputs, state: Any) -> dict[str, np.ndarray]:
    """The arrays of an output that replaces the argument with the parameters, by their names in it."""
    holder = inputs.names[0].partition("/")[0]
    return {
        key_of(holder, joined(path)): np.array(leaf)
        for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    }


def _carried(step: NormalisedStep, values: Mapping[str, HostValue], outputs: Any) -> dict[str, HostValue]:
    found: dict[str, HostValue] = {}
    for position, argument in step.carry.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(outputs[position])[0]:
            name = key_of(argument, joined(path))
            if name in values and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
                found[name] = HostValue(np.array(leaf), spec=values[name].spec)
    return found


def _reported(step: NormalisedStep, outputs: Any) -> dict[str, float]:
    """Every number the step returns beside what it carries on, by the last part of its path."""
    rest = [output for position, output in enumerate(outputs) if position not in step.carry]
    leaves = jax.tree_util.tree_flatten_with_path(rest)[0]
    return {
        key_name(path[-1]): float(leaf)
        for path, leaf in leaves
        if getattr(leaf, "size", 0) == 1 and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    }


class _Moves:
    """Slots before and after the update, by parameter."""

    def __init__(
        self,
        inputs: Inputs,
        before: Mapping[str, np.ndarray],
        after: Mapping[str, np.ndarray],
        constants: Adam,
        index: int,
    ) -> None:
        self._names = set(inputs.names)
        self.before, self.after, self.constants = before, after, constants
        counts = [int(array) for name, array in after.items() if name.endswith("/count") and array.ndim == 0]
        self._time = max(counts, default=index + 1)

    def slot(self, path: str, kinds: frozenset[str]) -> str | None:
        """The name of a parameter's slot of one kind."""
        return next(
            (
                name
                for name in self.after
                if name not in self._names
                and (name.endswith(f"/{path}") or not path)
                and kinds & set(name.removesuffix(path).split("/"))
            ),
            None,
        )

    def given(self, path: str) -> np.ndarray | None:
        """What the optimizer was given as the gradient, from its first moment."""
        name = self.slot(path, FIRST_MOMENTS)
        if name is None:
            return None
        b1 = self.constants.b1
        after, before = self.after[name].astype(np.float64), self.before[name].astype(np.float64)
        share = 1 - b1 if self.slot(path, SECOND_MOMENTS) is not None else 1.0
        return (after - b1 * before) / share

    def direction(self, path: str, gradient: np.ndarray) -> np.ndarray:
        """Where the optimizer moves a parameter without decay; with no slots, along the gradient."""
        first, second = self.slot(path, FIRST_MOMENTS), self.slot(path, SECOND_MOMENTS)
        if first is None:
            return gradient
        mean = self.after[first].astype(np.float64)
        if second is None:
            return mean
        c, time = self.constants, self._time
        square = self.after[second].astype(np.float64) / (1 - c.b2**time)
        return mean / (1 - c.b1**time) / (np.sqrt(square) + c.eps)


def _parameter(
    path: str,
    name: str,
    moves: _Moves,
    gradient: np.ndarray,
    step: NormalisedStep,
    start: Mapping[str, HostValue],
) -> ParameterFact:
    before, after = moves.before[name].astype(np.float64), moves.after[name].astype(np.float64)
    change, given, direction = after - before, moves.given(path), moves.direction(path, gradient)
    leaf = next(leaf for a, p, leaf in named_leaves(step, step.args, step.kwargs) if key_of(a, p) == name)
    sharding = getattr(leaf, "sharding", None)
    spec: list[list[str]] | None = None
    copies = 1
    if isinstance(sharding, NamedSharding):
        entries = [*sharding.spec, *([None] * (len(leaf.shape) - len(sharding.spec)))]
        spec = [[entry] if isinstance(entry, str) else list[str](entry or ()) for entry in entries]
        split = int(np.prod([sharding.mesh.shape[axis] for entry in spec for axis in entry], dtype=np.int64))
        copies = sharding.mesh.size // split
    return ParameterFact(
        path=path,
        shape=list(leaf.shape),
        dtype=str(leaf.dtype),
        spec=spec,
        copies=copies,
        start=described(start[name].array),
        gg=_dot(gradient, gradient),
        ga=None if given is None else _dot(gradient, given),
        aa=None if given is None else _dot(given, given),
        dd=_dot(change, change),
        du=_dot(change, direction),
        dp=_dot(change, before),
        uu=_dot(direction, direction),
        up=_dot(direction, before),
        pp=_dot(before, before),
    )


def _dot(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.vdot(one, other))
