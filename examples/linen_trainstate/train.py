"""A Flax Linen + Optax trainer that grew up under `pmap` and runs under `jit` now.

What `pmap` left behind: every device holds the whole state; sums are taken on each device's rows before they are taken
over devices, where `psum(..., "batch")` stood; one PRNG key is folded with the step. Axes are Auto.
"""

from types import SimpleNamespace

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax.tree_util import tree_map

BATCH_SPEC = P("data")


class TrainState(train_state.TrainState):
    dropout_rng: jax.Array


class Block(nn.Module):
    width: int
    inner: int
    heads: int
    dropout: float
    dtype: str
    param_dtype: str

    @nn.compact
    def __call__(self, x, mask):
        kwargs = dict(dtype=jnp.dtype(self.dtype), param_dtype=jnp.dtype(self.param_dtype))
        drop = nn.Dropout(self.dropout, deterministic=False)
        y = nn.LayerNorm(**kwargs)(x)
        y = nn.MultiHeadDotProductAttention(self.heads, use_bias=False, name="attention", **kwargs)(y, y, mask=mask)
        x = x + drop(y)
        y = nn.LayerNorm(**kwargs)(x)
        y = nn.Dense(self.inner, name="up", **kwargs)(y)
        y = nn.Dense(self.width, name="down", **kwargs)(nn.gelu(y))
        return x + drop(y), None


class Transformer(nn.Module):
    vocab: int
    width: int
    inner: int
    heads: int
    layers: int
    dropout: float
    dtype: str
    param_dtype: str

    @nn.compact
    def __call__(self, tokens):
        kwargs = dict(dtype=jnp.dtype(self.dtype), param_dtype=jnp.dtype(self.param_dtype))
        x = nn.Embed(self.vocab, self.width, name="embed", **kwargs)(tokens)
        blocks = nn.scan(
            nn.remat(Block, prevent_cse=False),
            variable_axes={"params": 0},
            split_rngs={"params": True, "dropout": True},
            in_axes=nn.broadcast,
            length=self.layers,
        )(self.width, self.inner, self.heads, self.dropout, self.dtype, self.param_dtype, name="blocks")
        x, _ = blocks(x, nn.make_causal_mask(tokens))
        x = nn.LayerNorm(name="final_norm", **kwargs)(x)
        return nn.Dense(self.vocab, use_bias=False, name="head", **kwargs)(x)


def build(
    mesh,
    vocab=256,
    width=64,
    inner=256,
    heads=4,
    layers=4,
    sequence=32,
    batch=32,
    dropout=0.1,
    compute="bfloat16",
    seed=0,
):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    devices = mesh.devices.size
    replicated, by_row = NamedSharding(mesh, P()), NamedSharding(mesh, BATCH_SPEC)
    master = "float64" if compute == "float64" else "float32"
    model = Transformer(vocab, width, inner, heads, layers, dropout, compute, master)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=10, decay_steps=100)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))

    def create_train_state(rng):
        params_rng, dropout_rng = jax.random.split(rng)
        rngs = {"params": params_rng, "dropout": dropout_rng}
        params = model.init(rngs, jnp.zeros((1, sequence), jnp.int32))["params"]
        return TrainState.create(apply_fn=model.apply, params=params, tx=optimizer, dropout_rng=dropout_rng)

    def shard(x):
        """[batch, ...] -> [devices, batch / devices, ...]: the rows of each device, as `pmap` took them."""
        return x.reshape(devices, x.shape[0] // devices, *x.shape[1:])

    def forward(params, state, batch):
        rng = jax.random.fold_in(state.dropout_rng, state.step)
        logits = state.apply_fn({"params": params}, batch["tokens"], rngs={"dropout": rng}).astype(master)
        return logits, optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])

    def loss_and_metrics(params, state, batch):
        logits, losses = forward(params, state, batch)
        hits = jnp.argmax(logits, axis=-1) == batch["targets"]
        rows = tree_map(shard, {"loss": losses * batch["mask"], "accuracy": hits * batch["mask"]})
        tokens = jnp.sum(shard(batch["mask"].astype(master)), axis=(1, 2))
        sums = tree_map(lambda x: jnp.sum(x, axis=(1, 2)), rows)
        # psum over devices, above and below the line: devices differ in how many tokens count.
        metrics = tree_map(lambda x: jnp.sum(x) / jnp.sum(tokens), sums)
        return metrics["loss"], metrics

    def loss_and_grads(state, batch):
        (loss, _), grads = jax.value_and_grad(loss_and_metrics, has_aux=True)(state.params, state, batch)
        return loss, grads

    def loss_terms(state, batch):
        _, losses = forward(state.params, state, batch)
        return {"cross_entropy": (jnp.sum(losses * batch["mask"]), jnp.sum(batch["mask"].astype(master)))}

    def train_step(state, batch):
        (_, metrics), grads = jax.value_and_grad(loss_and_metrics, has_aux=True)(state.params, state, batch)
        return state.apply_gradients(grads=grads), metrics

    def load(index):
        rng = np.random.default_rng((seed, index))
        text = np.cumsum(rng.integers(1, 4, size=(batch, sequence + 1)), axis=1) % vocab
        length = rng.integers(sequence // 2, sequence + 1, size=(batch, 1))
        return {
            "tokens": text[:, :-1].astype(np.int32),
            "targets": text[:, 1:].astype(np.int32),
            "mask": (np.arange(sequence) < length).astype(np.float32),
        }

    def example(index):
        state = jax.jit(create_train_state, out_shardings=replicated)(jax.random.PRNGKey(seed))
        return (state, jax.device_put(load(index), by_row)), {}

    def abstract(sharding):
        return lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    state = tree_map(abstract(replicated), jax.eval_shape(create_train_state, jax.random.PRNGKey(seed)))
    return SimpleNamespace(
        fn=jax.jit(train_step, donate_argnums=(0,), out_shardings=(replicated, replicated)),
        args=(state, tree_map(abstract(by_row), load(0))),
        example=example,
        loss_and_grads=loss_and_grads,
        loss_terms=loss_terms,
    )
