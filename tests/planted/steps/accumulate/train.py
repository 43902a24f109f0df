"""A small data-parallel step that accumulates gradients over microbatches: two matrices, momentum, no layers."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def build(mesh, width=256, batch=256, microbatches=4):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    optimizer = optax.sgd(1e-2, momentum=0.9)
    rows = P(("data", "fsdp"))

    def init():
        params = {"enter": {"kernel": jnp.zeros((width, width))}, "leave": {"kernel": jnp.zeros((width, width))}}
        return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}

    def loss_fn(params, inputs):
        hidden = jnp.tanh(inputs @ params["enter"]["kernel"])
        return jnp.sum((hidden @ params["leave"]["kernel"]) ** 2) / batch

    def split(x):
        """[batch, width] -> [microbatches, batch / microbatches, width]; no row moves to another device."""
        x = x.reshape(batch // microbatches, microbatches, width).swapaxes(0, 1)
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(None, *rows)))

    def loss_and_grads(state, batch):
        def accumulate(total, inputs):
            loss, grads = jax.value_and_grad(loss_fn)(state["params"], inputs)
            return jax.tree.map(jnp.add, total, (loss, grads)), None

        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state["params"]))
        return jax.lax.scan(accumulate, zero, split(batch["inputs"]))[0]

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, {"loss": loss}

    def abstract(shape, dtype, spec):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    state = jax.tree.map(lambda leaf: abstract(leaf.shape, leaf.dtype, P()), jax.eval_shape(init))
    inputs = {"inputs": abstract((batch, width), jnp.float32, rows)}
    return SimpleNamespace(
        fn=train_step,
        args=(state, inputs),
        kwargs={},
        donate=("state",),
        static=(),
        loss_and_grads=loss_and_grads,
    )
