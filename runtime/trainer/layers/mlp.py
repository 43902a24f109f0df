"""Feed-forward block: (silu(x w_gate) * (x w_up)) w_down (Shazeer, arXiv 2002.05202), or gelu(x w_up) w_down."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from ..config import TrainerConfig
from ..mesh import Placement
from .weight import gathered, weight


class Mlp(nnx.Module):
    """w_gate_DF (gated only), w_up_DF, w_down_FD.

    Collectives of one forward use: with `embed` sharded, one all-gather for each weight; with `mlp` sharded, one
    all-reduce of b*S*D behind w_down. Backward adds one all-reduce of b*S*D over `mlp` for the input of each of
    w_gate and w_up, and one all-reduce over the batch axes for each weight's gradient.
    """

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs, stack: int | None = None) -> None:
        self.cfg, self.place = cfg, place
        width, inner = cfg.d_model, cfg.d_ff
        if cfg.mlp == "gated":
            self.w_gate = weight(cfg, place, rngs, (width, inner), ("embed", "mlp"), width, stack)
        self.w_up = weight(cfg, place, rngs, (width, inner), ("embed", "mlp"), width, stack)
        self.w_down = weight(cfg, place, rngs, (inner, width), ("mlp", "embed"), inner, stack)

    def __call__(self, x_BSD: jax.Array) -> jax.Array:
        if self.cfg.mlp == "gated":
            inner_BSF = jax.nn.silu(self._in(x_BSD, self.w_gate)) * self._in(x_BSD, self.w_up)
        else:
            inner_BSF = jax.nn.gelu(self._in(x_BSD, self.w_up))
        w_FD = gathered(self.w_down[...], self.cfg.compute_dtype, self.place, "mlp", "embed")
        return jnp.einsum("bsf,fd->bsd", inner_BSF, w_FD, out_sharding=self.place.activation(None, None))

    def _in(self, x_BSD: jax.Array, w: nnx.Param) -> jax.Array:
        w_DF = gathered(w[...], self.cfg.compute_dtype, self.place, "embed", "mlp")
        return jnp.einsum("bsd,df->bsf", x_BSD, w_DF, out_sharding=self.place.activation(None, "mlp"))
