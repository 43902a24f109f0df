"""A data-parallel step whose layers keep their results only: large enough to fill a device otherwise."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import optax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

POLICY = jax.checkpoint_policies.save_only_these_names("out")


def build(mesh, width=1024, inner=8192, layers=12, batch=262144):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    optimizer = optax.sgd(1e-2, momentum=0.9)

    def init():
        params = {"up": jnp.zeros((layers, width, inner)), "down": jnp.zeros((layers, inner, width))}
        return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}

    def layer(x, weights):
        hidden = jnp.tanh(x @ weights["up"])
        return x + checkpoint_name(hidden @ weights["down"], "out"), None

    def loss_fn(params, inputs):
        x, _ = jax.lax.scan(jax.checkpoint(layer, policy=POLICY), inputs, params)
        return jnp.sum(x**2) / batch

    def loss_and_grads(state, batch):
        return jax.value_and_grad(loss_fn)(state["params"], batch["inputs"])

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, {"loss": loss}

    def abstract(leaf, spec):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    state = jax.tree.map(lambda leaf: abstract(leaf, P()), jax.eval_shape(init))
    inputs = {"inputs": abstract(jax.ShapeDtypeStruct((batch, width), jnp.float32), P(("data", "fsdp")))}
    return SimpleNamespace(
        fn=train_step,
        args=(state, inputs),
        kwargs={},
        donate=("state",),
        static=(),
        loss_and_grads=loss_and_grads,
    )
