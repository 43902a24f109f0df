"""A small data-parallel step that keeps the activations of its layers and the optimizer's slots in host memory."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import optax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

POLICY = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[],
    names_which_can_be_offloaded=["hidden"],
    offload_src="device",
    offload_dst="pinned_host",
)


def build(mesh, width=256, layers=4, batch=512, slots="device"):
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    optimizer = optax.sgd(1e-2, momentum=0.9)
    rows = P(("data", "fsdp"))

    def init():
        params = {"layers": {"kernel": jnp.zeros((layers, width, width))}}
        return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}

    def layer(x, kernel):
        x = checkpoint_name(x, "hidden")
        return jnp.tanh(x @ kernel), None

    def loss_fn(params, inputs):
        x, _ = jax.lax.scan(jax.checkpoint(layer, policy=POLICY), inputs, params["layers"]["kernel"])
        return jnp.sum(x**2) / batch

    def loss_and_grads(state, batch):
        return jax.value_and_grad(loss_fn)(state["params"], batch["inputs"])

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        opt_state = jax.device_put(state["opt_state"], placed(state["opt_state"], "device"))
        updates, opt_state = optimizer.update(grads, opt_state, state["params"])
        params = optax.apply_updates(state["params"], updates)
        opt_state = jax.device_put(opt_state, placed(opt_state, slots))
        return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, {"loss": loss}

    def placed(tree, kind):
        return jax.tree.map(lambda leaf: NamedSharding(mesh, P(), memory_kind=kind), tree)

    def abstract(leaf, kind):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, P(), memory_kind=kind))

    state = jax.eval_shape(init)
    kept = {name: jax.tree.map(lambda leaf: abstract(leaf, "device"), part) for name, part in state.items()}
    kept["opt_state"] = jax.tree.map(lambda leaf: abstract(leaf, slots), state["opt_state"])
    inputs = {"inputs": jax.ShapeDtypeStruct((batch, width), jnp.float32, sharding=NamedSharding(mesh, rows))}
    return SimpleNamespace(
        fn=train_step,
        args=(kept, inputs),
        kwargs={},
        donate=("state",),
        static=(),
        loss_and_grads=loss_and_grads,
    )
