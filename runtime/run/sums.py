"""How many terms the longest sum behind a value has: by that much may the order of a sum move it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from ..jaxpr import open_jaxpr, subjaxprs
from .compare import ONE_TERM, LongestSum, roundoff_of
from .narrow import equations

SINGLE = 2.0**-24
"""Unit roundoff of float32, in which XLA accumulates what is narrower."""
_LOOPS = ("scan", "while")


def longest_sum(closed: Any, output: int) -> LongestSum:
    """Of the sums that one output of a jaxpr depends on, the one that rounding can move most.

    Sums over dimensions, in matrix products, and in the accumulators of loops. Calls are looked into; all of a loop or
    a conditional counts where anything of it is needed.
    """
    return _Slices().longest(open_jaxpr(closed), frozenset([output]))[0]


class _Slices:
    """Backward slices of jaxprs, each made once: a jaxpr may be called any number of times."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, frozenset[int]], tuple[LongestSum, frozenset[int]]] = {}

    def longest(self, jaxpr: Any, outputs: frozenset[int]) -> tuple[LongestSum, frozenset[int]]:
        """The longest sum behind some outputs, and the inputs that they depend on."""
        key = id(jaxpr), outputs
        if key in self._known:
            return self._known[key]
        found = ONE_TERM
        needed = {id(jaxpr.outvars[position]) for position in outputs}
        for eqn in reversed(jaxpr.eqns):
            wanted = frozenset(position for position, made in enumerate(eqn.outvars) if id(made) in needed)
            if not wanted:
                continue
            called = _called(eqn)
            if called is None:
                inside = (longest for sub in subjaxprs(eqn) for each in equations(sub) for longest in _sums(each))
                found = max([found, *_sums(eqn), *inside], key=_error)
                needed.update(map(id, eqn.invars))
            else:
                below, inputs = self.longest(called, wanted)
                found = max(found, below, key=_error)
                needed.update(id(eqn.invars[position]) for position in inputs)
        inputs = frozenset(position for position, given in enumerate(jaxpr.invars) if id(given) in needed)
        self._known[key] = found, inputs
        return found, inputs


def _error(longest: LongestSum) -> float:
    return longest.error


def _called(eqn: Any) -> Any:
    """The jaxpr of a call, whose inputs and outputs are those of the equation; None for anything else."""
    subs = list(subjaxprs(eqn)) if eqn.primitive.name not in _LOOPS else []
    if len(subs) != 1 or len(subs[0].invars) != len(eqn.invars) or len(subs[0].outvars) != len(eqn.outvars):
        return None
    return subs[0]


def _sums(eqn: Any) -> Iterator[LongestSum]:
    """The sums that an equation makes itself."""
    for terms, aval in _terms(eqn):
        dtype = getattr(aval, "dtype", None)
        if terms > 1 and dtype is not None and jnp.issubdtype(dtype, jnp.floating):
            yield LongestSum(terms, min(roundoff_of(dtype), SINGLE))


def _terms(eqn: Any) -> Iterator[tuple[int, Any]]:
    """(number of terms, what is summed)."""
    name = eqn.primitive.name
    first: Any = eqn.invars[0].aval if eqn.invars else None
    if name == "reduce_sum":
        yield math.prod(first.shape[axis] for axis in eqn.params["axes"]), first
    elif name == "cumsum":
        yield first.shape[eqn.params["axis"]], first
    elif name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        yield math.prod(first.shape[axis] for axis in contracted), first
    elif name == "scan":
        # What is stacked has one dimension more outside than in the body. JAX 0.12 no longer counts what is carried.
        for outside, inside in zip(eqn.outvars, open_jaxpr(eqn.params["jaxpr"]).outvars, strict=True):
            if outside.aval.shape == inside.aval.shape:
                yield eqn.params["length"], outside.aval
