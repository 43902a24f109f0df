"""Root mean square norm: y = x / sqrt(mean(x^2) + eps) * scale (Zhang and Sennrich, arXiv 1910.07467)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from ..config import TrainerConfig
from ..mesh import Placement
from .weight import gathered, weight

EPSILON = 1e-6


class RmsNorm(nnx.Module):
    """scale_D. Statistics in the master dtype, result in the compute dtype. No collective but the gather of the
    scale."""

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs, stack: int | None = None) -> None:
        self.cfg, self.place = cfg, place
        self.scale = weight(cfg, place, rngs, (cfg.d_model,), ("embed",), stack=stack)

    def __call__(self, x_BSD: jax.Array) -> jax.Array:
        x_BSD = x_BSD.astype(self.cfg.master_dtype)
        mean_BS1 = jnp.mean(jnp.square(x_BSD), axis=-1, keepdims=True)
        scale_D = gathered(self.scale[...], self.cfg.master_dtype, self.place, "embed")
        return (x_BSD * jax.lax.rsqrt(mean_BS1 + EPSILON) * scale_D).astype(self.cfg.compute_dtype)
