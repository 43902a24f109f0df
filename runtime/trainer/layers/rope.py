"""Rotary positions (Su et al., arXiv 2104.09864): pairs (x_i, x_{i+h/2}) turn by p * theta^(-2i/h) at position p.

p is the column, or in packed rows the place in the document.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def rope(x_BSHh: jax.Array, theta: float, dtype: jnp.dtype, positions_BS: jax.Array | None = None) -> jax.Array:
    """Rotates every head by its position, computing angles and products in `dtype`. No collective."""
    _, sequence, _, width = x_BSHh.shape
    frequency_i = theta ** (-jnp.arange(0, width, 2, dtype=dtype) / width)
    position_S = jnp.arange(sequence, dtype=dtype) if positions_BS is None else positions_BS.astype(dtype)
    angle_Si = position_S[..., None] * frequency_i
    cos_S1i, sin_S1i = jnp.cos(angle_Si)[..., None, :], jnp.sin(angle_Si)[..., None, :]
    left, right = jnp.split(x_BSHh.astype(dtype), 2, axis=-1)
    turned = jnp.concatenate([left * cos_S1i - right * sin_S1i, right * cos_S1i + left * sin_S1i], axis=-1)
    return turned.astype(x_BSHh.dtype)
