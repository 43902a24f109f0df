"""A step's own loss and gradient, compiled once and called with any values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
from jax.sharding import Mesh

from ..run.functions import OPTIONS, context_of
from ..run.values import HostValue, place
from ..step import NormalisedStep
from .terms import Vector, as_vector


class GradientFunction:
    """`loss_and_grads` of a step on a mesh."""

    def __init__(self, step: NormalisedStep, mesh: Mesh | None, wide: bool) -> None:
        assert step.loss_and_grads is not None
        self.step, self._mesh, self.wide = step, mesh, wide
        self._run = compiled(step, step.loss_and_grads)

    def __call__(self, values: Mapping[str, HostValue]) -> tuple[float, Vector]:
        """The loss and its gradient. Exceptions of user code and of JAX pass through."""
        with context_of(self.step):
            args, kwargs = place(self.step, values, self._mesh, self.wide)
            loss, gradients = jax.device_get(self._run(*args, **kwargs))
        return float(loss), as_vector(gradients)


def compiled(step: NormalisedStep, function: Any) -> Any:
    """A function of the step's arguments, jitted for its values alone; one that came jitted as it is."""
    if hasattr(function, "trace"):
        return function
    static = tuple(index for index, name in enumerate(step.positional_names) if name in step.static)
    named = tuple(name for name in step.kwargs if name in step.static)
    return jax.jit(function, static_argnums=static or None, static_argnames=named or None, compiler_options=OPTIONS)
