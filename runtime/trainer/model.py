"""The decoder: embedding, L equal layers in one scan, final norm, head.

x_0 = E[tokens];  x_{l+1} = y_l + Mlp(norm(y_l)),  y_l = x_l + Attention(norm(x_l));  logits = norm(x_L) W
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import PartitionSpec

from .config import TrainerConfig
from .layers import Attention, Mlp, Packing, RmsNorm
from .layers.dropout import dropout
from .layers.weight import gathered, weight
from .mesh import Placement

Params = dict[str, Any]
"""Nested dicts of arrays; `/`-joined they are the names used in contracts: `layers/attn/wq`."""


class Layer(nnx.Module):
    """One pre-norm block, or L of them stacked along a leading dimension of every parameter."""

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs, stack: int | None = None) -> None:
        self.cfg, self.place = cfg, place
        self.attn_norm = RmsNorm(cfg, place, rngs, stack)
        self.attn = Attention(cfg, place, rngs, stack)
        self.mlp_norm = RmsNorm(cfg, place, rngs, stack)
        self.mlp = Mlp(cfg, place, rngs, stack)

    def __call__(
        self, x_BSD: jax.Array, keys: tuple[jax.Array, jax.Array] | None = None, packing: Packing | None = None
    ) -> jax.Array:
        first, second = keys if keys is not None else (None, None)
        y_BSD = x_BSD + dropout(self.attn(self.attn_norm(x_BSD), packing), first, self.cfg.dropout, self.place)
        return y_BSD + dropout(self.mlp(self.mlp_norm(y_BSD)), second, self.cfg.dropout, self.place)


class Embedding(nnx.Module):
    """table_VD. With `embed` sharded, one all-gather; with `vocab` sharded, every device looks up the tokens whose
    rows it holds, and one all-reduce of b*S*D over `vocab` adds the zeros of the others."""

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs) -> None:
        self.cfg, self.place = cfg, place
        self.table = weight(cfg, place, rngs, (cfg.vocab, cfg.d_model), ("vocab", "embed"), cfg.d_model)

    def whole(self) -> jax.Array:
        """The table as both of its uses need it, so that a tied head does not gather it again."""
        return gathered(self.table[...], self.cfg.compute_dtype, self.place, "vocab", "embed")

    def __call__(self, table_VD: jax.Array, tokens_BS: jax.Array) -> jax.Array:
        return lookup(table_VD, tokens_BS, self.place.activation(None, None), self.cfg.master_dtype)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def lookup(table_VD: jax.Array, tokens_BS: jax.Array, spec: PartitionSpec, accumulator: jnp.dtype) -> jax.Array:
    """table[tokens], [B, S, D]. Its gradient adds one row for each token: in the `accumulator` dtype, since a
    frequent token's sum of thousands of bfloat16 rows would stop growing."""
    return table_VD.at[tokens_BS].get(out_sharding=spec)


def _lookup_forward(
    table_VD: jax.Array, tokens_BS: jax.Array, spec: PartitionSpec, accumulator: jnp.dtype
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return lookup(table_VD, tokens_BS, spec, accumulator), (table_VD, tokens_BS)


def _lookup_backward(
    spec: PartitionSpec, accumulator: jnp.dtype, saved: tuple[jax.Array, jax.Array], grad_BSD: jax.Array
) -> tuple[jax.Array, None]:
    table_VD, tokens_BS = saved
    like_VD = jax.ShapeDtypeStruct(table_VD.shape, accumulator, sharding=jax.typeof(table_VD).sharding)
    rows = jax.linear_transpose(lambda table: table.at[tokens_BS].get(out_sharding=spec), like_VD)
    return rows(grad_BSD.astype(accumulator))[0].astype(table_VD.dtype), None


lookup.defvjp(_lookup_forward, _lookup_backward)


class Head(nnx.Module):
    """kernel_DV, absent when the embedding table is shared."""

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs) -> None:
        self.kernel = weight(cfg, place, rngs, (cfg.d_model, cfg.vocab), ("embed", "vocab"), cfg.d_model)


class Decoder(nnx.Module):
    """tokens [B, S] int32 -> logits [B, S, V] in the master dtype, sharded over `vocab`.

    With `vocab` sharded, the backward pass of the head adds one all-reduce of b*S*D over it, in the master dtype. A
    tied table has two gradients, of the lookup and of the head: each is reduced over the batch axes before they are
    added.
    """

    def __init__(self, cfg: TrainerConfig, place: Placement, rngs: nnx.Rngs) -> None:
        self.cfg, self.place = cfg, place
        self.embed = Embedding(cfg, place, rngs)
        self.layers = Layer(cfg, place, rngs, stack=cfg.layers)
        self.final_norm = RmsNorm(cfg, place, rngs)
        if not cfg.tied:
            self.lm_head = Head(cfg, place, rngs)

    def __call__(self, tokens_BS: jax.Array, key: jax.Array | None = None, packing: Packing | None = None) -> jax.Array:
        cfg, place = self.cfg, self.place
        table_VD = self.embed.whole()
        x_BSD = self.final_norm(self._layers(self.embed(table_VD, tokens_BS), key, packing))
        if cfg.tied:
            w_DV = table_VD.T
        else:
            w_DV = gathered(self.lm_head.kernel[...], cfg.compute_dtype, place, "embed", "vocab")
        return jnp.einsum(
            "bsd,dv->bsv",
            x_BSD,
            w_DV,
            preferred_element_type=cfg.master_dtype,
            out_sharding=place.activation(None, "vocab"),
        )

    def _layers(self, x_BSD: jax.Array, key: jax.Array | None, packing: Packing | None) -> jax.Array:
        graph, stacked = nnx.split(self.layers, nnx.Param)
        # Two keys for each layer: what is dropped behind attention and MLP is drawn apart.
        keys = None if key is None else tuple(jax.random.split(key, (2, self.cfg.layers)))

        def layer(x_BSD: jax.Array, given: tuple[nnx.State, Any]) -> tuple[jax.Array, None]:
            params, keys = given
            return nnx.merge(graph, params)(x_BSD, keys, packing), None

        if self.cfg.remat == "full":
            # The scan already keeps forward and backward apart, so the barrier against common subexpressions is not
            # needed.
            layer = jax.checkpoint(layer, prevent_cse=False, policy=jax.checkpoint_policies.nothing_saveable)
        return jax.lax.scan(layer, x_BSD, (stacked, keys))[0]


class Model:
    """The decoder as pure functions of a dict of parameters."""

    def __init__(self, cfg: TrainerConfig, place: Placement) -> None:
        self.cfg, self.place = cfg, place
        with place.context():
            self._graph, state = nnx.split(nnx.eval_shape(lambda: Decoder(cfg, place, nnx.Rngs(params=0))), nnx.Param)
        axes = jax.tree.map(lambda p: p.get_metadata("logical"), state, is_leaf=lambda p: isinstance(p, nnx.Param))
        self.logical: dict[str, Any] = nnx.to_pure_dict(axes)

    def init(self, key: jax.Array) -> Params:
        """Parameters in the master dtype, already placed."""
        return nnx.to_pure_dict(nnx.state(Decoder(self.cfg, self.place, nnx.Rngs(params=key)), nnx.Param))

    def logits(
        self, params: Params, tokens_BS: jax.Array, key: jax.Array | None = None, packing: Packing | None = None
    ) -> jax.Array:
        """[B, S, V] in the master dtype. Without a key nothing is dropped."""
        return nnx.merge(self._graph, nnx.State(params))(tokens_BS, key, packing)
