"""An Equinox + Optax training step: a causal MLP-mixer over tokens, parameters and moments split over `fsdp`.

The model is a pytree that holds functions beside its arrays; `eqx.filter_jit` tells them apart. Axes are Auto: arrays
are placed by `fsdp_spec` and pinned with `eqx.filter_shard`; the compiler chooses the collectives.
"""

from collections.abc import Callable
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH_SPEC = P(("data", "fsdp"))
SMALLEST_SPLIT = 1024


def fsdp_spec(array, size):
    """Split the largest dimension that `size` devices divide; small arrays are on every device."""
    fits = [d for d, length in enumerate(array.shape) if length % size == 0]
    if array.size < SMALLEST_SPLIT or not fits:
        return P()
    largest = max(fits, key=lambda d: array.shape[d])
    return P(*("fsdp" if d == largest else None for d in range(largest + 1)))


class Block(eqx.Module):
    token_norm: eqx.nn.RMSNorm
    mix: jax.Array
    channel_norm: eqx.nn.RMSNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    activation: Callable

    def __init__(self, sequence, width, inner, key):
        mix_key, up_key, down_key = jax.random.split(key, 3)
        self.token_norm = eqx.nn.RMSNorm(width)
        self.mix = jax.random.normal(mix_key, (sequence, sequence)) / sequence
        self.channel_norm = eqx.nn.RMSNorm(width)
        self.up = eqx.nn.Linear(width, inner, use_bias=False, key=up_key)
        self.down = eqx.nn.Linear(inner, width, use_bias=False, key=down_key)
        self.activation = jax.nn.gelu

    def __call__(self, x):
        """[sequence, width] -> [sequence, width]; a position sees itself and those before it."""
        x = x + jnp.tril(self.mix) @ jax.vmap(self.token_norm)(x)
        hidden = self.activation(jax.vmap(self.up)(jax.vmap(self.channel_norm)(x)))
        return x + jax.vmap(self.down)(hidden)


class Mixer(eqx.Module):
    embed: eqx.nn.Embedding
    blocks: Block
    norm: eqx.nn.RMSNorm
    head: eqx.nn.Linear

    def __init__(self, vocab, sequence, width, inner, layers, key):
        embed_key, block_key, head_key = jax.random.split(key, 3)
        self.embed = eqx.nn.Embedding(vocab, width, key=embed_key)
        keys = jax.random.split(block_key, layers)
        self.blocks = eqx.filter_vmap(lambda key: Block(sequence, width, inner, key))(keys)
        self.norm = eqx.nn.RMSNorm(width)
        self.head = eqx.nn.Linear(width, vocab, use_bias=False, key=head_key)

    def __call__(self, tokens, constrain):
        """[batch, sequence] -> logits [batch, sequence, vocab]."""
        arrays, rest = eqx.partition(self.blocks, eqx.is_array)

        def layer(x, arrays):
            return constrain(jax.vmap(eqx.combine(arrays, rest))(x)), None

        x = constrain(jax.vmap(jax.vmap(self.embed))(tokens))
        x, _ = jax.lax.scan(layer, x, arrays)
        return jax.vmap(jax.vmap(self.head))(jax.vmap(jax.vmap(self.norm))(x))


def build(mesh, vocab=256, sequence=32, width=64, inner=256, layers=4, batch=32, compute="bfloat16", seed=0):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    master = jnp.float64 if compute == "float64" else jnp.float32
    optimizer = optax.adamw(3e-4)
    by_row = NamedSharding(mesh, BATCH_SPEC)

    def placements(tree):
        return jax.tree.map(lambda x: NamedSharding(mesh, fsdp_spec(x, mesh.shape["fsdp"])), tree)

    def cast(tree, dtype):
        return jax.tree.map(lambda x: x.astype(dtype) if eqx.is_inexact_array(x) else x, tree)

    def place(tree):
        arrays, rest = eqx.partition(tree, eqx.is_array)
        return eqx.combine(eqx.filter_shard(arrays, placements(arrays)), rest)

    def init(key):
        model = cast(Mixer(vocab, sequence, width, inner, layers, key), master)
        return model, optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    def constrain(x):
        return eqx.filter_shard(x, by_row)

    def cross_entropy(model, batch):
        logits = cast(model, compute)(batch["tokens"], constrain).astype(master)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        return jnp.sum(losses * batch["mask"]), jnp.sum(batch["mask"].astype(master))

    def loss_fn(model, batch):
        total, tokens = cross_entropy(model, batch)
        return total / jnp.maximum(tokens, 1)

    def loss_terms(batch, model, opt_state):
        return {"cross_entropy": cross_entropy(model, batch)}

    def loss_and_grads(batch, model, opt_state):
        return eqx.filter_value_and_grad(loss_fn)(model, batch)

    @eqx.filter_jit(donate="all-except-first")
    def train_step(batch, model, opt_state):
        loss, grads = eqx.filter_value_and_grad(loss_fn)(model, batch)
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
        model = eqx.apply_updates(model, updates)
        return place(model), place(opt_state), loss

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
        model, opt_state = place(init(jax.random.key(seed)))
        return (jax.device_put(load(index), by_row), model, opt_state), {}

    def abstract(x, sharding):
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    arrays, rest = eqx.partition(eqx.filter_eval_shape(init, jax.random.key(seed)), lambda x: hasattr(x, "shape"))
    model, opt_state = eqx.combine(jax.tree.map(abstract, arrays, placements(arrays)), rest)
    return SimpleNamespace(
        fn=train_step,
        args=({name: abstract(value, by_row) for name, value in load(0).items()}, model, opt_state),
        example=example,
        loss_and_grads=loss_and_grads,
        loss_terms=loss_terms,
    )
