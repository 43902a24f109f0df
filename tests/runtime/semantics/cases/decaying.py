"""AdamW on a matrix and a scale, without decay of the scale."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax

MASK = {"w": True, "scale": False}


def build(compute="float32"):
    optimizer = optax.adamw(1e-3, weight_decay=0.1, mask=MASK)
    rng = np.random.default_rng(0)
    dtype = jnp.dtype(compute)
    params = {"w": jnp.asarray(rng.standard_normal((64, 64)), dtype), "scale": jnp.ones(64, dtype)}
    state = {"params": params, "opt_state": optimizer.init(params)}
    batch = {"x": rng.standard_normal((8, 64)).astype(compute), "mask": np.ones(8, compute)}

    def summed(params, batch):
        return jnp.sum(jnp.square(batch["x"] @ params["w"] * params["scale"]).mean(axis=1) * batch["mask"])

    def loss_and_grads(state, batch):
        return jax.value_and_grad(lambda p: summed(p, batch) / jnp.sum(batch["mask"]))(state["params"])

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, {"loss": loss}

    return SimpleNamespace(
        fn=train_step,
        args=(state, batch),
        donate=("state",),
        loss_and_grads=loss_and_grads,
        loss_terms=lambda state, batch: {"square": (summed(state["params"], batch), jnp.sum(batch["mask"]))},
    )
