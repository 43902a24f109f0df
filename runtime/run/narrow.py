"""Which precision a traced function really computes in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from ..frames import FramePaths
from ..jaxpr import CONTRACTIONS, open_jaxpr, subjaxprs

# Moving a number about, or making one from an integer, does not round it.
_EXACT = frozenset(
    [
        "broadcast_in_dim",
        "reshape",
        "transpose",
        "squeeze",
        "expand_dims",
        "iota",
        "slice",
        "dynamic_slice",
        "gather",
        "concatenate",
        "pad",
        "rev",
        "select_n",
        "copy",
        "split",
        "sharding_constraint",
        "reshard",
        "pvary",
        "stop_gradient",
        "device_put",
        "copy_p",
        "optimization_barrier",
        "all_gather",
        "ppermute",
        "all_to_all",
        "neg",
        "abs",
        "sign",
        "max",
        "min",
        "reduce_max",
        "reduce_min",
        "argmax",
        "argmin",
        "floor",
        "ceil",
        "round",
        "clamp",
        "dynamic_update_slice",
    ]
)


def narrow_arithmetic(jaxpr: Any, paths: FramePaths) -> str | None:
    """The first arithmetic whose result is narrower than float64, as `float32 mul at model.py:12`; None without one."""
    for eqn in equations(jaxpr):
        name = eqn.primitive.name
        if name in _EXACT or any(subjaxprs(eqn)):
            continue
        narrow = [v.aval.dtype for v in eqn.outvars if _floating(v.aval) and v.aval.dtype.itemsize < 8]
        if not narrow or not any(_floating(v.aval) for v in eqn.invars):
            continue
        if name == "convert_element_type" and eqn.invars[0].aval.dtype.itemsize <= narrow[0].itemsize:
            continue
        frames = paths.of_equation(eqn.source_info)
        place = f" at {frames[0].path}:{frames[0].line}" if frames else ""
        return f"{narrow[0].name} {name}{place}"
    return None


def product_dtype(jaxpr: Any) -> str:
    """The narrowest floating dtype that a matrix product reads; without products, that any equation writes."""
    products: list[Any] = []
    others: list[Any] = []
    for eqn in equations(jaxpr):
        if eqn.primitive.name in CONTRACTIONS:
            products += [v.aval.dtype for v in eqn.invars if _floating(v.aval)]
        else:
            others += [v.aval.dtype for v in eqn.outvars if _floating(v.aval)]
    found = products or others
    return min(found, key=lambda dtype: dtype.itemsize).name if found else "float32"


def equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation of a jaxpr and of the jaxprs in it; a jaxpr met twice is walked once."""
    seen: set[int] = set()
    stack = [open_jaxpr(jaxpr)]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for eqn in current.eqns:
            yield eqn
            stack.extend(subjaxprs(eqn))


def _floating(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating)
