"""Dropout: x * keep / (1 - rate), keep drawn anew for every use (Srivastava et al., JMLR 15, 2014, 1929-1958)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..mesh import Placement


def dropout(x_BSD: jax.Array, key: jax.Array | None, rate: float, place: Placement) -> jax.Array:
    """`x` itself without a key. No collective: every device draws its own part of `keep`."""
    if key is None:
        return x_BSD
    drawn_BSD = jax.random.uniform(key, x_BSD.shape, jnp.float32, out_sharding=place.activation(None, None))
    return jnp.where(drawn_BSD >= rate, x_BSD / (1 - rate), 0)
