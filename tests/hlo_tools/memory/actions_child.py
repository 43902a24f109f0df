"""Child process: compile steps before and after each action that shrinks memory, and dump their protos."""

import os
import sys
from functools import partial
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PLATFORM, OUT = sys.argv[1], Path(sys.argv[2])

if PLATFORM == "tpu":
    from jax.experimental import topologies

    devices = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4").devices
else:
    devices = jax.devices()
MESH = Mesh(np.array(devices).reshape(8), ("data",), axis_types=(AxisType.Auto,))
LAYERS, WIDTH, HIDDEN = 8, 512, 2048
# No activation has the shape of a weight; on TPU, which needs less for the rest, there are more of them.
BATCH = 6144 if PLATFORM == "cpu" else 16 * 6144


def struct(shape, *spec):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*spec)))


def mlp(h, up, gate, down):
    return h + (jnp.tanh(h @ up) * jnp.sin(h @ gate)) @ down


def scanned(params, h, around):
    """Eight layers in a loop."""

    def layer(h, weights):
        return mlp(h, *weights), None

    h, _ = jax.lax.scan(around(layer), h, params)
    return jnp.mean(h**2)


def step(state, batch, *, around=lambda layer: layer, microbatches=1):
    params = state["params"]

    def body(total, part):
        return jax.tree.map(jnp.add, total, jax.grad(scanned)(params, part, around)), None

    if microbatches == 1:
        grads = jax.grad(scanned)(params, batch, around)
    else:
        parts = batch.reshape(microbatches, -1, WIDTH)
        parts = jax.lax.with_sharding_constraint(parts, NamedSharding(MESH, P(None, "data")))
        grads, _ = jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), parts)
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], grads)
    nu = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["nu"], grads)
    params = jax.tree.map(lambda p, m, v: p - 1e-3 * m * jax.lax.rsqrt(v + 1e-8), params, mu, nu)
    return {"params": params, "mu": mu, "nu": nu}


def state_of(*slots, params=()):
    shapes = ((LAYERS, WIDTH, HIDDEN), (LAYERS, WIDTH, HIDDEN), (LAYERS, HIDDEN, WIDTH))

    def arrays(*spec):
        return tuple(struct(shape, *spec) for shape in shapes)

    return {"params": arrays(*params), "mu": arrays(*slots), "nu": arrays(*slots)}


def gradients(state, batch):
    """The step without its update, which needs no slots."""
    return jax.grad(scanned)(state["params"], batch, jax.checkpoint)


def updated(state, grads):
    """The update alone, after the slots were fetched."""
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], grads)
    nu = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["nu"], grads)
    params = jax.tree.map(lambda p, m, v: p - 1e-3 * m * jax.lax.rsqrt(v + 1e-8), state["params"], mu, nu)
    return {"params": params, "mu": mu, "nu": nu}


def narrow(x):
    """Rows of four, which a tile pads to 128; both values have to be in memory."""
    rows = jax.lax.optimization_barrier(jnp.sin(x.reshape(-1, 4)))
    return jnp.sum(jax.lax.optimization_barrier(rows * 2.0), axis=1)


def wide(x):
    """The same with the long dimension last."""
    columns = jax.lax.optimization_barrier(jnp.sin(x.reshape(4, -1)))
    return jnp.sum(jax.lax.optimization_barrier(columns * 2.0), axis=0)


def offloading(layer):
    """Saves what each layer is given in the host's memory."""
    from jax.ad_checkpoint import checkpoint_name

    def named(h, weights):
        return layer(checkpoint_name(h, "h"), weights)

    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device", offload_dst="pinned_host"
    )
    return jax.checkpoint(named, policy=policy)


def programs():
    """(action, its twin before and after, arguments of both, what is donated in both)."""
    batch = struct((BATCH, WIDTH), "data")
    plain, split = (state_of(), batch), (state_of("data"), batch)
    remat = partial(step, around=jax.checkpoint)
    if PLATFORM == "tpu":
        flat = (struct((1 << 22,)),)
        yield "layout", (narrow, wide), (flat, flat), ((), ())
        yield "offload", (remat, partial(step, around=offloading)), (plain, plain), (0, 0)
        yield "recompute", (step, remat), (plain, plain), (0, 0)
        return
    yield "donate", (remat, remat), (plain, plain), ((), 0)
    yield "recompute", (step, remat), (plain, plain), (0, 0)
    yield "shard", (remat, remat), (plain, split), (0, 0)
    held = {"params": state_of()["params"]}, batch
    yield "offload-slots", (remat, gradients), (plain, held), (0, ())
    grads = state_of()["params"]
    yield "offload-slots-update", (remat, updated), (plain, (state_of(), grads)), (0, 0)
    whole = state_of(params=(None, "data")), batch
    yield "shard-parameters", (remat, remat), (plain, whole), (0, 0)
    yield "microbatch", (step, partial(step, microbatches=2)), (plain, plain), (0, 0)
    yield "microbatch-again", tuple(partial(step, microbatches=n) for n in (2, 4)), (plain, plain), (0, 0)


def main():
    for action, functions, arguments, donated in programs():
        for side, function, given, donate in zip(("before", "after"), functions, arguments, donated, strict=True):
            options = {"xla_dump_to": str(OUT / action / side), "xla_dump_hlo_as_proto": True}
            jax.jit(function, donate_argnums=donate).lower(*given).compile(compiler_options=options)


main()
