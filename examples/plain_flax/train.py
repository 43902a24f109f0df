"""A small Flax NNX + Optax training step, as one would write it without knowing contract-lint.

Parameters are sharded over `fsdp`, the batch over `data` and `fsdp`. Axes are Auto: the compiler chooses the
collectives from the shardings of parameters, batch and activations.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PARAMETER_SPECS = {
    "embed/embedding": P(None, "fsdp"),
    "blocks/norm/scale": P(),
    "blocks/up/kernel": P(None, "fsdp"),
    "blocks/down/kernel": P(None, None, "fsdp"),
    "final_norm/scale": P(),
    "head/kernel": P("fsdp"),
}
BATCH_SPEC = P(("data", "fsdp"))
ACTIVATION_SPEC = P(("data", "fsdp"))


class Block(nnx.Module):
    def __init__(self, width, inner, dtype, param_dtype, rngs):
        kwargs = dict(dtype=dtype, param_dtype=param_dtype, rngs=rngs)
        self.norm = nnx.RMSNorm(width, **kwargs)
        self.up = nnx.Linear(width, inner, use_bias=False, **kwargs)
        self.down = nnx.Linear(inner, width, use_bias=False, **kwargs)

    def __call__(self, x):
        return x + self.down(nnx.gelu(self.up(self.norm(x))))


class Model(nnx.Module):
    def __init__(self, vocab, width, inner, layers, dtype, param_dtype, rngs):
        kwargs = dict(dtype=dtype, param_dtype=param_dtype)

        @nnx.split_rngs(splits=layers)
        @nnx.vmap(in_axes=0, out_axes=0)
        def stack(rngs):
            return Block(width, inner, dtype, param_dtype, rngs)

        self.embed = nnx.Embed(vocab, width, rngs=rngs, **kwargs)
        self.blocks = stack(rngs)
        self.final_norm = nnx.RMSNorm(width, rngs=rngs, **kwargs)
        self.head = nnx.Linear(width, vocab, use_bias=False, rngs=rngs, **kwargs)

    def __call__(self, tokens, constrain, whole):
        graph, stacked = nnx.split(self.blocks, nnx.Param)

        def layer(x, params):
            return constrain(nnx.merge(graph, params)(x)), None

        # A lookup in a split table would move the tokens and the rows; its gradient is whole too before it is split.
        self.embed.embedding[...] = whole(self.embed.embedding[...])
        x = constrain(self.embed(tokens))
        x, _ = jax.lax.scan(layer, x, stacked)
        return self.head(self.final_norm(x))


def build(
    mesh, vocab=256, width=64, inner=256, layers=4, sequence=64, batch=32, microbatches=2, compute="bfloat16", seed=0
):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    master = jnp.float64 if compute == "float64" else jnp.float32
    optimizer = optax.adamw(1e-3)

    def make_model(dtype=master):
        return Model(vocab, width, inner, layers, jnp.dtype(compute), dtype, nnx.Rngs(seed))

    graph = nnx.graphdef(nnx.eval_shape(make_model))

    def init():
        # Drawn in float32 always, so that every compute dtype starts from the same numbers.
        params = nnx.to_pure_dict(nnx.state(make_model(jnp.float32), nnx.Param))
        params = jax.tree.map(lambda p: p.astype(master), params)
        return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}

    def placed(path, leaf):
        """Optimizer slots lie where their parameter does; counters are replicated."""
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        specs = [spec for suffix, spec in PARAMETER_SPECS.items() if name.endswith("/" + suffix)]
        return NamedSharding(mesh, specs[0] if specs else P())

    def constrain(x):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, ACTIVATION_SPEC))

    def whole(x):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P()))

    def split(x):
        """[batch, sequence] -> [microbatches, batch / microbatches, sequence]; no row moves to another device."""
        x = x.reshape(batch // microbatches, microbatches, sequence).swapaxes(0, 1)
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(None, *BATCH_SPEC)))

    def loss_fn(params, micro, tokens):
        logits = nnx.merge(graph, nnx.State(params))(micro["tokens"], constrain, whole).astype(master)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, micro["targets"])
        return jnp.sum(losses * micro["mask"]) / tokens

    def loss_and_grads(state, batch):
        tokens = jnp.sum(batch["mask"].astype(master))
        params = state["params"]
        # One gather serves every microbatch.
        table = {"embedding": whole(params["embed"]["embedding"])}

        def accumulate(total, micro):
            part = jax.value_and_grad(loss_fn)({**params, "embed": table}, micro, tokens)
            return jax.tree.map(jnp.add, total, part), None

        zero = (jnp.zeros((), master), jax.tree.map(jnp.zeros_like, params))
        return jax.lax.scan(accumulate, zero, jax.tree.map(split, batch))[0]

    def loss_terms(state, batch):
        return {"cross_entropy": (loss_fn(state["params"], batch, 1), jnp.sum(batch["mask"]))}

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        state = {"params": params, "opt_state": opt_state, "step": state["step"] + 1}
        return jax.lax.with_sharding_constraint(state, state_shardings), {"loss": loss}

    def example(index):
        rng = np.random.default_rng((seed, index))
        text = np.cumsum(rng.integers(1, 4, size=(batch, sequence + 1)), axis=1) % vocab
        length = rng.integers(sequence // 2, sequence + 1, size=(batch, 1))
        values = {
            "tokens": text[:, :-1].astype(np.int32),
            "targets": text[:, 1:].astype(np.int32),
            "mask": (np.arange(sequence) < length).astype(np.float32),
        }
        return (jax.jit(init, out_shardings=state_shardings)(), jax.device_put(values, batch_sharding)), {}

    abstract = jax.eval_shape(init)
    state_shardings = jax.tree.map_with_path(placed, abstract)
    batch_sharding = NamedSharding(mesh, BATCH_SPEC)
    state = jax.tree.map(
        lambda leaf, at: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=at), abstract, state_shardings
    )
    dtypes = {"tokens": jnp.int32, "targets": jnp.int32, "mask": jnp.float32}
    inputs = {
        name: jax.ShapeDtypeStruct((batch, sequence), dtype, sharding=batch_sharding) for name, dtype in dtypes.items()
    }
    return SimpleNamespace(
        fn=train_step,
        args=(state, inputs),
        kwargs={},
        donate=("state",),
        static=(),
        example=example,
        loss_and_grads=loss_and_grads,
        loss_terms=loss_terms,
    )
