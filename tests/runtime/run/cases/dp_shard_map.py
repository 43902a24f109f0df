"""Data parallelism written by hand: a regression under shard_map over every mesh axis, reductions spelled out."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def build(mesh, width=24, rows=4, sequence=16, seed=0, compute="float32", fault=""):
    if fault == "needs_eight" and mesh.size < 8:
        raise ValueError("eight devices are needed")
    axes = tuple(mesh.axis_names)
    master = jnp.float64 if compute == "float64" else jnp.float32
    batch_rows = rows * 8

    def local(params, batch):
        def loss(params):
            h = jnp.tanh(batch["x"].astype(compute) @ params["w"].astype(compute))
            error = (h @ params["v"].astype(compute))[..., 0].astype(master) - batch["y"]
            counted = batch["mask"]
            if fault == "dropped_shard":
                counted = jnp.where(jax.lax.axis_index(axes) == 3, 0, counted)
            total, tokens = jnp.sum(jnp.square(error) * counted), jnp.sum(batch["mask"])
            if fault == "local_tokens":
                return total / tokens / jax.lax.axis_size(axes)
            return total / jax.lax.psum(tokens, axes)

        value, grads = jax.value_and_grad(loss)(params)
        if fault == "missing_psum":
            return jax.lax.psum(value, axes), grads
        value, grads = jax.lax.psum((value, grads), axes)
        if fault == "double_psum":
            grads = jax.lax.psum(grads, axes)
        if fault == "last_bits" and jax.lax.axis_size(axes) > 1:
            grads = grads | {"v": grads["v"] * (1 + 2.0**-12)}
        return value, grads

    whole = jax.shard_map(local, mesh=mesh, in_specs=(P(), P(axes)), out_specs=(P(), P()), check_vma=False)

    def train_step(params, batch, rate):
        loss, grads = whole(params, batch)
        return jax.tree.map(lambda p, g: (p - rate * g).astype(p.dtype), params, grads), {"loss": loss}

    def example(i):
        rng = np.random.default_rng((seed, i))
        init = np.random.default_rng(seed)
        put = lambda value, spec: jax.device_put(np.asarray(value), NamedSharding(mesh, spec))  # noqa: E731
        params = {"w": init.normal(size=(width, width)) / 5, "v": init.normal(size=(width, 1))}
        lengths = rng.integers(1, sequence + 1, size=(batch_rows, 1))
        batch = {
            "x": rng.normal(size=(batch_rows, sequence, width)),
            "y": rng.normal(size=(batch_rows, sequence)),
            "mask": np.arange(sequence)[None, :] < lengths,
        }
        place = lambda tree, spec: jax.tree.map(lambda v: put(v.astype(master), spec), tree)  # noqa: E731
        return (place(params, P()), place(batch, P(axes)), 0.1), {}

    return SimpleNamespace(
        fn=train_step,
        args=example(0)[0],
        donate=("params",),
        example=example,
        loss_and_grads=lambda params, batch, rate: whole(params, batch),
    )
