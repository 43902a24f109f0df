"""How many terms a sum behind a value has: by that much may the order of the sum move it.

XLA adds up the terms of a matrix product in float32 where they are narrower. On a CPU it rounds the partial sums of any
other sum to the type of that sum, one after the other: of `reduce_sum` (the gradient of a bias is one, over batch,
height and width), of scattered additions (the gradient of an embedding), and of what a loop carries. `jnp.sum` converts
to float32 first; the gradient of a broadcast does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from ..jaxpr import open_jaxpr, subjaxprs
from .compare import ONE_TERM, SINGLE, LongestSum, roundoff_of
from .narrow import equations

_LOOPS = ("scan", "while")
_PRODUCTS = ("dot_general", "conv_general_dilated")
_SCATTERED = ("scatter-add", "scatter_add")
_PASSED_ON = frozenset(
    (
        *("convert_element_type", "reshape", "transpose", "squeeze", "expand_dims", "copy", "copy_p", "neg", "rev"),
        *("sharding_constraint", "reshard", "optimization_barrier", "device_put", "stop_gradient", "pvary", "psum"),
        *("psum_invariant", "add", "add_any", "sub", "mul", "div", "pad", "concatenate", "slice", "reduce_sum"),
        "dynamic_update_slice",
    )
)
"""What hands a gradient on, or adds, scales and joins gradients: of a sum of sums each counts."""


def longest_sum(closed: Any, output: int) -> LongestSum:
    """Of the sums that one output of a jaxpr depends on, the one that rounding can move most.

    Sums over dimensions, in matrix products, and in the accumulators of loops. Calls are looked into; all of a loop or
    a conditional counts where anything of it is needed.
    """
    return _Slices().longest(open_jaxpr(closed), frozenset([output]))[0]


def own_sum(closed: Any, output: int) -> LongestSum:
    """Of the sums whose result an output of a jaxpr is, scaled, added to others and moved, the one that rounding can
    move most. What the terms are made of does not count."""
    jaxpr = open_jaxpr(closed)
    return _own(jaxpr, jaxpr.outvars[output], set())


def _own(jaxpr: Any, value: Any, seen: set[int]) -> LongestSum:
    """Of the sums that a value of a jaxpr is the result of; each value is looked at once."""
    made = {id(out): (eqn, position) for eqn in jaxpr.eqns for position, out in enumerate(eqn.outvars)}
    found, pending = ONE_TERM, [value]
    while pending:
        now = pending.pop()
        if id(now) in seen or id(now) not in made:
            continue
        seen.add(id(now))
        eqn, position = made[id(now)]
        found = max([found, *_made_by(eqn, position)], key=_error)
        if eqn.primitive.name in _PASSED_ON:
            # A scale is one number; it is no sum of gradients.
            pending += [given for given in eqn.invars if given.aval.size > 1 or now.aval.size == 1]
            continue
        for sub in subjaxprs(eqn):
            # The outputs of a loop or a call are those of the jaxpr in it.
            if eqn.primitive.name not in _SCATTERED and len(sub.outvars) == len(eqn.outvars):
                found = max(found, _own(sub, sub.outvars[position], seen), key=_error)
    return found


def _made_by(eqn: Any, position: int) -> Iterator[LongestSum]:
    """The sums of which an output of an equation is the result."""
    if eqn.primitive.name == "scan":
        # What a round hands on keeps its shape; what every round adds a piece to has a dimension more. The parameters
        # that count them changed in jax 0.12.
        (body,) = subjaxprs(eqn)
        carried = body.outvars[position].aval.shape == eqn.outvars[position].aval.shape
        terms = [(eqn.params["length"], eqn.outvars[position].aval)] if carried else []
    else:
        terms = _terms(eqn)
    for number, aval in terms:
        if number > 1 and _is_floating(aval):
            exact = roundoff_of(aval.dtype)
            yield LongestSum(number, min(exact, SINGLE) if eqn.primitive.name in _PRODUCTS else exact)


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
        if terms > 1 and _is_floating(aval):
            yield LongestSum(terms, min(roundoff_of(aval.dtype), SINGLE))


def _is_floating(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating)


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
    elif name in _SCATTERED:
        # So many updates may fall on one element: all of them where the indices say nothing else.
        updates = eqn.invars[2].aval
        window = math.prod(updates.shape[axis] for axis in eqn.params["dimension_numbers"].update_window_dims)
        yield math.prod(updates.shape) // max(1, window), first
    elif name == "scan":
        # What is stacked has one dimension more outside than in the body. JAX 0.12 no longer counts what is carried.
        for outside, inside in zip(eqn.outvars, open_jaxpr(eqn.params["jaxpr"]).outvars, strict=True):
            if outside.aval.shape == inside.aval.shape:
                yield eqn.params["length"], outside.aval
