"""How a parameter is declared, and how it is brought together for use."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import reshard

from ..config import TrainerConfig
from ..mesh import Placement


def weight(
    cfg: TrainerConfig,
    place: Placement,
    rngs: nnx.Rngs,
    shape: tuple[int, ...],
    axes: tuple[str, ...],
    fan_in: int | None = None,
    stack: int | None = None,
) -> nnx.Param:
    """A parameter with logical axes: normal with variance 1 / fan_in, or all ones where fan_in is None.

    `stack` puts a leading `layer` dimension before the shape. Values are drawn in float32 whatever the master dtype
    is, so that a float64 twin starts from the same numbers, and do not depend on the mesh.
    """
    if stack is not None:
        shape, axes = (stack, *shape), ("layer", *axes)
    spec = place.spec(*axes)
    if fan_in is None:
        value = jnp.ones(shape, jnp.float32, out_sharding=spec)
    else:
        value = jax.random.normal(rngs.params(), shape, jnp.float32, out_sharding=spec) / math.sqrt(fan_in)
    return nnx.Param(value.astype(cfg.master_dtype), logical=axes)


def gathered(w: jax.Array, dtype: jnp.dtype, place: Placement, *axes: str) -> jax.Array:
    """One use of a parameter: cast, then whole along `embed`.

    With `embed` on mesh axes (FSDP) this is one all-gather over them of the array in `dtype`; in the backward pass its
    transpose keeps the local slice of the gradient, so that the batch's all-reduce before it is a reduce-scatter.
    """
    return reshard(w.astype(dtype), place.spec(*(None if axis == "embed" else axis for axis in axes)))
