"""A classifier on a mesh with Auto axes: parameters sharded over `fsdp`, the batch over both axes, Adam, no example."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def build(mesh, width=32, batch=16, classes=10, compute="float32", microbatches=1, fault="", grads=True, dropout=False):
    master = jnp.float64 if compute == "float64" else jnp.float32
    tx = optax.adam(1e-3)
    axes = tuple(mesh.axis_names)

    def loss_sum(params, x, y, mask):
        h = x.astype(compute)
        for layer in ("a", "b"):
            h = jnp.tanh(h @ params[layer]["w"].astype(compute) + params[layer]["b"].astype(compute))
        logits = (h @ params["head"]["w"].astype(compute)).astype(master)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)[:, 0]
        if dropout:
            keep = jax.random.bernoulli(jax.random.key(0), 0.5, picked.shape)
            picked = jnp.where(keep, picked, 0)
        return -jnp.sum(picked * mask)

    def accumulate(params, batch):
        total = jnp.sum(batch["mask"])

        def part(params, micro):
            denominator = jnp.sum(micro["mask"]) * microbatches if fault == "mean_of_means" else total
            return loss_sum(params, micro["x"], micro["y"], micro["mask"]) / denominator

        def body(carry, micro):
            return jax.tree.map(jnp.add, carry, jax.value_and_grad(part)(params, micro)), None

        split = jax.tree.map(lambda v: v.reshape(-1, microbatches, *v.shape[1:]).swapaxes(0, 1), batch)
        zero = (jnp.zeros((), master), jax.tree.map(jnp.zeros_like, params))
        return jax.lax.scan(body, zero, split)[0]

    def train_step(state, batch):
        loss, grads = accumulate(state["params"], batch)
        updates, opt = tx.update(grads, state["opt"], state["params"])
        metrics = {"loss": loss, "grad_norm": optax.global_norm(grads), "count": jnp.sum(batch["mask"] > 0)}
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt, "step": state["step"] + 1}, metrics

    def spec(leaf):
        split = leaf.ndim > 1 and "fsdp" in axes and leaf.shape[0] % mesh.shape["fsdp"] == 0
        return NamedSharding(mesh, P("fsdp") if split else P())

    def abstract(tree, sharding):
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding(leaf)), tree)

    def init():
        shapes = {"a": (2 * width, width), "b": (width, width), "head": (width, classes)}
        params = {
            name: {"w": jnp.zeros(shape, master), "b": jnp.zeros(shape[1:], master)} for name, shape in shapes.items()
        }
        del params["head"]["b"]
        return {"params": params, "opt": tx.init(params), "step": jnp.zeros((), jnp.int32)}

    inputs = {
        "x": jax.ShapeDtypeStruct((batch, 2 * width), jnp.float32),
        "y": jax.ShapeDtypeStruct((batch,), jnp.int32),
        "mask": jax.ShapeDtypeStruct((batch,), jnp.float32),
    }
    over = NamedSharding(mesh, P(axes))
    return SimpleNamespace(
        fn=train_step,
        args=(abstract(jax.eval_shape(init), spec), abstract(inputs, lambda _: over)),
        donate=("state",),
        loss_and_grads=(lambda state, batch: accumulate(state["params"], batch)) if grads else None,
    )
