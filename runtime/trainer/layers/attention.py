"""Grouped-query causal attention: softmax(q k^T / sqrt(h) + mask) v, keys and values shared by H / K query heads
(Ainslie et al., arXiv 2305.13245; tensor parallel as in Megatron-LM, arXiv 1909.08053)."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from flax import nnx

from ..config import TrainerConfig
from ..mesh import Placement
from .packing import Packing
from .rope import rope
from .weight import gathered, weight


class Attention(nnx.Module):
    """wq_D(Hh), wk_D(Kh), wv_D(Kh), wo_(Hh)D.

    Collectives of one forward use, b = B / (N * batch axes) sequences on a device: with `embed` sharded, one
    all-gather for each of the four weights; with `heads` sharded, one all-reduce of b*S*D behind wo. Backward adds
    one all-reduce of b*S*D over `heads` for the input of each of wq, wk, wv, and one all-reduce over the batch axes
    for each weight's gradient.
    """

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs, stack: int | None = None) -> None:
        self.cfg, self.place = cfg, place
        width, query, key = cfg.d_model, cfg.heads * cfg.h, cfg.kv_heads * cfg.h
        self.wq = weight(cfg, place, rngs, (width, query), ("embed", "heads"), width, stack)
        self.wk = weight(cfg, place, rngs, (width, key), ("embed", "heads"), width, stack)
        self.wv = weight(cfg, place, rngs, (width, key), ("embed", "heads"), width, stack)
        self.wo = weight(cfg, place, rngs, (query, width), ("heads", "embed"), query, stack)

    def __call__(self, x_BSD: jax.Array, packing: Packing | None = None) -> jax.Array:
        cfg, place = self.cfg, self.place
        positions_BS = packing.positions_BS if packing is not None else None
        q_BSHh = rope(self._heads(x_BSD, self.wq, cfg.heads), cfg.rope_theta, cfg.master_dtype, positions_BS)
        k_BSKh = rope(self._heads(x_BSD, self.wk, cfg.kv_heads), cfg.rope_theta, cfg.master_dtype, positions_BS)
        v_BSKh = self._heads(x_BSD, self.wv, cfg.kv_heads)
        o_BSHh = attend(q_BSHh, k_BSKh, v_BSKh, cfg, place, packing)
        batch, sequence = x_BSD.shape[:2]
        o_BSE = jnp.reshape(o_BSHh, (batch, sequence, -1), out_sharding=place.activation(None, "heads"))
        wo_ED = gathered(self.wo[...], cfg.compute_dtype, place, "heads", "embed")
        return jnp.einsum("bse,ed->bsd", o_BSE, wo_ED, out_sharding=place.activation(None, None))

    def _heads(self, x_BSD: jax.Array, w: nnx.Param, heads: int) -> jax.Array:
        """x w, split in heads: [B, S, heads, h]."""
        cfg, place = self.cfg, self.place
        w_DE = gathered(w[...], cfg.compute_dtype, place, "embed", "heads")
        y_BSE = jnp.einsum("bsd,de->bse", x_BSD, w_DE, out_sharding=place.activation(None, "heads"))
        shape = (*x_BSD.shape[:2], heads, cfg.h)
        return jnp.reshape(y_BSE, shape, out_sharding=place.activation(None, "heads", None))


def attend(
    q_BSHh: jax.Array,
    k_BTKh: jax.Array,
    v_BTKh: jax.Array,
    cfg: TrainerConfig,
    place: Placement,
    packing: Packing | None = None,
) -> jax.Array:
    """Causal softmax attention, within its document in packed rows; scores in the master dtype: [B, S, H, h]. Heads
    never mix, so there is no collective."""
    batch, sequence, heads, width = q_BSHh.shape
    kv_heads = k_BTKh.shape[2]
    shape = (batch, sequence, kv_heads, heads // kv_heads, width)
    q_BSKGh = jnp.reshape(q_BSHh, shape, out_sharding=place.activation(None, "heads", None, None))
    scores_BKGST = jnp.einsum(
        "bskgh,btkh->bkgst",
        q_BSKGh,
        k_BTKh,
        preferred_element_type=cfg.master_dtype,
        out_sharding=place.activation("heads", None, None, None),
    ) / math.sqrt(width)
    causal_ST = jnp.tril(jnp.ones((sequence, sequence), bool))
    seen = causal_ST
    if packing is not None:
        # Each query sees itself, so no row of scores is empty, not even in padding.
        segments_BS = packing.segments_BS
        seen = (causal_ST & (segments_BS[:, :, None] == segments_BS[:, None, :]))[:, None, None, :, :]
    scores_BKGST = jnp.where(seen, scores_BKGST, jnp.finfo(cfg.master_dtype).min)
    p_BKGST = jax.nn.softmax(scores_BKGST, axis=-1).astype(cfg.compute_dtype)
    o_BSKGh = jnp.einsum("bkgst,btkh->bskgh", p_BKGST, v_BTKh, out_sharding=place.activation(None, "heads", None, None))
    return jnp.reshape(o_BSKGh, (batch, sequence, heads, width), out_sharding=place.activation(None, "heads", None))
