"""A Flax NNX model and optimizer under nnx.jit, with a batch over `data`."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def build(mesh):
    model = nnx.Linear(8, 16, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    replicated = NamedSharding(mesh, P())
    for whole in (model, optimizer):
        nnx.update(whole, jax.device_put(nnx.state(whole), replicated))

    @nnx.jit
    def train(model, optimizer, x):
        def loss(model):
            return jnp.mean(model(x) ** 2)

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    x = jax.ShapeDtypeStruct((16, 8), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return SimpleNamespace(fn=train, args=(model, optimizer, x))
