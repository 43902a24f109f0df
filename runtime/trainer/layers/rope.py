"""Rotary positions (Su et al., arXiv 2104.09864): pairs (x_i, x_{i+h/2}) turn by s * theta^(-2i/h) at position s."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def rope(x_BSHh: jax.Array, theta: float, dtype: jnp.dtype) -> jax.Array:
    """Rotates every head by its position, computing angles and products in `dtype`. No collective."""
    _, sequence, _, width = x_BSHh.shape
    frequency_i = theta ** (-jnp.arange(0, width, 2, dtype=dtype) / width)
    angle_Si = jnp.arange(sequence, dtype=dtype)[:, None] * frequency_i[None, :]
    cos_S1i, sin_S1i = jnp.cos(angle_Si)[:, None, :], jnp.sin(angle_Si)[:, None, :]
    left, right = jnp.split(x_BSHh.astype(dtype), 2, axis=-1)
    turned = jnp.concatenate([left * cos_S1i - right * sin_S1i, right * cos_S1i + left * sin_S1i], axis=-1)
    return turned.astype(x_BSHh.dtype)
