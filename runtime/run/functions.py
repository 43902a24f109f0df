"""A step's `loss_and_grads` and the step itself, compiled for their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from ..step import NormalisedStep

# Code of the lowest effort does the same arithmetic, compiles in half the time, and runs once or twice.
OPTIONS = {"xla_backend_optimization_level": 0}


def context_of(step: NormalisedStep) -> AbstractContextManager[Any]:
    """The mesh that the step asked to be current."""
    return nullcontext() if step.mesh is None else jax.set_mesh(step.mesh)


def traced_jaxpr(jitted: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The program a jitted function traces to; that of `nnx.jit` wraps JAX's own."""
    traced = jitted.trace(*args, **kwargs)
    return getattr(traced, "traced", traced).jaxpr


def in_place(step: NormalisedStep, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a call changes instead of returning them anew: Flax NNX objects, by argument name."""
    named = {**dict(zip(step.positional_names, args, strict=True)), **kwargs}
    return {name: value for name, value in named.items() if _is_nnx(type(value))}


def _is_nnx(kind: type) -> bool:
    # nnx.State is a plain tree: a call leaves it alone, or eats it where it is donated.
    bases = [base.__module__ for base in kind.__mro__]
    return any(name.startswith("flax.nnx") for name in bases) and "flax.nnx.statelib" not in bases


class ValueFunctions:
    """Calls that donate nothing and return everything. To be used within `context_of` the step.

    Where both functions are plain they are compiled as one program: XLA shares what they have in common.
    """

    def __init__(self, step: NormalisedStep) -> None:
        self._step = step
        self._plain = step.jitted is not step.fn
        gradients = step.loss_and_grads
        self._gradients = gradients
        if gradients is not None and not hasattr(gradients, "trace"):
            self._gradients = self._jit(gradients)
        self._fn = self._jit(step.fn) if self._plain else step.jitted
        self._both = None
        if gradients is not None and self._plain and self._gradients is not gradients:
            self._both = self._jit(lambda *args, **kwargs: (gradients(*args, **kwargs), step.fn(*args, **kwargs)))

    def jaxprs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Name -> traced program, `loss_and_grads` first where the step has it."""
        functions = {"loss_and_grads": self._gradients, "fn": self._fn}
        return {name: traced_jaxpr(call, args, kwargs) for name, call in functions.items() if call is not None}

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, Any] | None, Any]:
        """((loss, gradients) or None, what the step returns).

        `args` are donated where the step came jitted with donation. Raises TypeError where `loss_and_grads` returns
        something else than a pair.
        """
        if self._both is not None:
            returned, out = self._both(*args, **kwargs)
        else:
            # First: the step may donate what both read.
            returned = jax.block_until_ready(self._gradients(*args, **kwargs)) if self._gradients is not None else None
            out = self._fn(*args, **kwargs)
        if returned is not None and (not isinstance(returned, tuple | list) or len(returned) != 2):
            raise TypeError(f"loss_and_grads returned a {type(returned).__name__}; expected (loss, grads)")
        return returned, out  # pyright: ignore[reportReturnType]

    def _jit(self, function: Any) -> Any:
        static = self._step.static
        positional = tuple(i for i, name in enumerate(self._step.positional_names) if name in static)
        keywords = tuple(name for name in self._step.kwargs if name in static)
        return jax.jit(
            function, static_argnums=positional or None, static_argnames=keywords or None, compiler_options=OPTIONS
        )
