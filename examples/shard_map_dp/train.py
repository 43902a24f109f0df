"""Data parallelism written out with `jax.shard_map`: every reduction over the mesh is a `psum` one can read."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

BATCH_SPEC = P("data")


def build(mesh, features=32, hidden=128, classes=16, layers=4, batch=64, compute="float32", seed=0):
    master = jnp.float64 if compute == "float64" else jnp.float32
    optimizer = optax.adam(1e-3)

    def init(key):
        outer, stacked = jax.nn.initializers.lecun_normal(), jax.nn.initializers.lecun_normal(batch_axis=0)
        keys = jax.random.split(key, 3)
        params = {
            "enter": {"kernel": outer(keys[0], (features, hidden), jnp.float32)},
            "layers": {"kernel": stacked(keys[1], (layers, hidden, hidden), jnp.float32)},
            "leave": {"kernel": outer(keys[2], (hidden, classes), jnp.float32)},
        }
        params = jax.tree.map(lambda p: p.astype(master), params)
        return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}

    def forward(params, inputs):
        x = inputs.astype(compute) @ params["enter"]["kernel"].astype(compute)

        def layer(x, kernel):
            return x + jax.nn.gelu(x @ kernel.astype(compute)), None

        x, _ = jax.lax.scan(layer, x, params["layers"]["kernel"])
        return (x @ params["leave"]["kernel"].astype(compute)).astype(master)

    def weighted_losses(params, batch):
        losses = optax.softmax_cross_entropy_with_integer_labels(forward(params, batch["inputs"]), batch["labels"])
        return jnp.sum(losses * batch["weights"])

    def local_loss_and_grads(params, batch):
        """On one device: its rows' share of the weighted mean over all rows; then summed over the devices."""
        total = jax.lax.psum(jnp.sum(batch["weights"].astype(master)), "data")

        def share(params):
            return weighted_losses(params, batch) / total

        loss, grads = jax.value_and_grad(share)(params)
        loss = jax.lax.psum(loss, "data")
        grads = jax.lax.psum(grads, "data")
        return loss, grads

    def loss_and_grads(state, batch):
        # check_vma would sum the gradient of a replicated parameter by itself; here the sum is written out.
        over_data = jax.shard_map(
            local_loss_and_grads, mesh=mesh, in_specs=(P(), BATCH_SPEC), out_specs=(P(), P()), check_vma=False
        )
        return over_data(state["params"], batch)

    def loss_terms(state, batch):
        return {"cross_entropy": (weighted_losses(state["params"], batch), jnp.sum(batch["weights"].astype(master)))}

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, {"loss": loss}

    def example(index):
        rng = np.random.default_rng((seed, index))
        inputs = rng.standard_normal((batch, features), dtype=np.float32)
        values = {
            "inputs": inputs,
            "labels": inputs[:, :classes].argmax(axis=1).astype(np.int32),
            "weights": rng.integers(0, 3, size=batch).astype(np.float32),
        }
        state = jax.jit(init, out_shardings=replicated)(jax.random.key(seed))
        return (state, jax.device_put(values, NamedSharding(mesh, BATCH_SPEC))), {}

    def abstract(shape, dtype, spec):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    replicated = NamedSharding(mesh, P())
    state = jax.eval_shape(lambda: init(jax.random.key(seed)))
    inputs = {
        "inputs": abstract((batch, features), jnp.float32, BATCH_SPEC),
        "labels": abstract((batch,), jnp.int32, BATCH_SPEC),
        "weights": abstract((batch,), jnp.float32, BATCH_SPEC),
    }
    return SimpleNamespace(
        fn=train_step,
        args=(jax.tree.map(lambda leaf: abstract(leaf.shape, leaf.dtype, P()), state), inputs),
        kwargs={},
        donate=("state",),
        static=(),
        example=example,
        loss_and_grads=loss_and_grads,
        loss_terms=loss_terms,
    )
