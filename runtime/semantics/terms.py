"""Each term of the loss by itself: its sum, its denominator and the gradient of its sum, without accumulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from ...contracts.semantics import TermSum
from ..request import StepFailure
from ..run.functions import OPTIONS, context_of
from ..run.values import HostValue, key_of, named_leaves, place
from ..step import NormalisedStep
from .inputs import Inputs, for_rows, of_rows

Vector = list[np.ndarray]
"""A gradient: its leaves in the order of the parameters, float64."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Every term over some rows, by name."""

    sums: dict[str, TermSum]
    gradients: dict[str, Vector]


class TermFunctions:
    """The step's `loss_terms` with the gradient of each sum. One program for each number of rows."""

    def __init__(self, step: NormalisedStep, mesh: Mesh | None, inputs: Inputs, wide: bool) -> None:
        self._step, self._mesh, self._inputs, self._wide = step, mesh, inputs, wide
        named = named_leaves(step, step.args, step.kwargs)
        places = {key_of(argument, path): index for index, (argument, path, _) in enumerate(named)}
        self._positions = [places[name] for name in inputs.names]
        self._run = jax.jit(self._differentiated, compiler_options=OPTIONS)

    def __call__(self, values: Mapping[str, HostValue], rows: slice | None = None) -> Terms:
        """The terms over these rows (default: all). Exceptions of user code and of JAX pass through."""
        given = values if rows is None else of_rows(values, self._inputs, rows)
        count = self._inputs.sequences if rows is None else len(range(*rows.indices(self._inputs.sequences)))
        step = for_rows(self._step, self._inputs, count)
        with context_of(step):
            args, kwargs = place(step, given, self._mesh, self._wide)
            leaves = [leaf for _, _, leaf in named_leaves(step, args, kwargs)]
            sums, denominators, gradients = jax.device_get(self._run(leaves))
        return Terms(
            {name: TermSum(sum=float(sums[name]), denominator=float(denominators[name])) for name in sums},
            {name: as_vector(gradient) for name, gradient in gradients.items()},
        )

    def _differentiated(self, leaves: list[Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        def sums_of(parameters: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            whole = list(leaves)
            for position, value in zip(self._positions, parameters, strict=True):
                whole[position] = value
            args, kwargs = self._arguments(whole)
            assert self._step.loss_terms is not None
            terms = _checked(self._step.loss_terms(*args, **kwargs))
            return {name: jnp.sum(s) for name, (s, _) in terms.items()}, {name: d for name, (_, d) in terms.items()}

        sums, back, denominators = jax.vjp(sums_of, [leaves[p] for p in self._positions], has_aux=True)
        gradients = {
            name: back({other: (jnp.ones_like if other == name else jnp.zeros_like)(sums[other]) for other in sums})[0]
            for name in sums
        }
        return sums, denominators, gradients

    def _arguments(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest = iter(leaves)

        def filled(name: str, value: Any) -> Any:
            if name in self._step.static:
                return value
            structure = jax.tree.structure(value)
            return jax.tree.unflatten(structure, [next(rest) for _ in range(structure.num_leaves)])

        step = self._step
        args = tuple(filled(name, value) for name, value in zip(step.positional_names, step.args, strict=True))
        return args, {name: filled(name, value) for name, value in step.kwargs.items()}


def _checked(terms: Any) -> dict[str, tuple[Any, Any]]:
    """What `loss_terms` returned. Raises StepFailure where it is no {name: (sum, denominator)}."""
    if isinstance(terms, Mapping) and all(isinstance(each, tuple | list) and len(each) == 2 for each in terms.values()):
        return {str(name): (each[0], each[1]) for name, each in terms.items()}
    raise StepFailure(
        f"loss_terms returned a {type(terms).__name__} that is no {{name: (sum, denominator)}}",
        help="return a mapping from the name of each term to its sum over the rows and what that is divided by",
    )


def as_vector(gradient: Any) -> Vector:
    """The leaves of a gradient on the host, in float64."""
    return [np.asarray(leaf).astype(np.float64) for leaf in jax.tree.leaves(gradient)]


def added(one: Vector | None, other: Vector, factor: float = 1.0) -> Vector:
    """one + factor * other."""
    scaled = [factor * leaf for leaf in other]
    return scaled if one is None else [a + b for a, b in zip(one, scaled, strict=True)]


def inner(one: Vector, other: Vector) -> float:
    """The inner product over all leaves."""
    return float(sum(np.vdot(a, b) for a, b in zip(one, other, strict=True)))
