"""Child process: compile programs in which it is known of every buffer what it is for, and dump them."""

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


def devices():
    if PLATFORM == "tpu":
        from jax.experimental import topologies

        return topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4").devices
    if PLATFORM == "cuda":
        from contract_lint.runtime.targets.cuda import CudaTarget

        return CudaTarget.parse("cuda:h100:1x8").devices()
    return jax.devices()


MESH = Mesh(np.array(devices()).reshape(8), ("data",), axis_types=(AxisType.Auto,))
# What is small enough lives in a TPU's vector memory, and is not in question then.
MANY = 16 if PLATFORM == "tpu" else 1
LAYERS, WIDTH, HIDDEN, ROWS = 6, 384, 1536, 640 * MANY
TABLE = np.random.default_rng(0).normal(size=(1000, 640)).astype(np.float32)


def struct(shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, P(*spec)))


def loss(params, h, around):
    def layer(h, weights):
        up, down = weights
        return h + jnp.tanh(h @ up) @ down, None

    h, _ = jax.lax.scan(around(layer), h, params)
    return jnp.mean(h**2)


def step(state, x, around=lambda layer: layer):
    grads = jax.grad(loss)(state["params"], x, around)
    mu = jax.tree.map(lambda m, g: (0.9 * m + g).astype(m.dtype), state["mu"], grads)
    return {"params": jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], mu), "mu": mu}


def unnamed(a, b, c, d, x):
    """The same step; what its arguments are called tells nothing."""
    new = step({"params": (a, b), "mu": (c, d)}, x)
    return *new["params"], *new["mu"]


def pair(dtype=jnp.float32):
    return struct((LAYERS, WIDTH, HIDDEN), dtype=dtype), struct((LAYERS, HIDDEN, WIDTH), dtype=dtype)


def looked_up(x):
    """A constant of 1000 x 640 that the program holds."""
    return x @ jnp.asarray(TABLE)


def exchanged(x, w):
    """Rows of `w` gathered, `x` split by its columns and put together by its rows."""

    def inner(x, w):
        whole = jax.lax.all_gather(w, "data", tiled=True)
        moved = jax.lax.all_to_all(x, "data", 1, 0, tiled=True)
        return jax.lax.psum(jnp.tanh(x @ whole).sum() + jnp.sin(moved).sum(), "data")

    return jax.shard_map(inner, mesh=MESH, in_specs=(P("data", None), P("data", None)), out_specs=P())(x, w)


def ordered(x):
    """Indices that sort it: all of it gathered, and a result as long."""
    return jnp.argsort(x)


def narrow(x):
    """Rows of four, which a TPU's tile pads to 128."""
    rows = jax.lax.optimization_barrier(jnp.sin(x.reshape(-1, 4)))
    return jnp.sum(jax.lax.optimization_barrier(rows * 2.0), axis=1)


def turned(x, kernel):
    """A convolution whose operands and result no library takes in the order they have."""
    dims = ("NCHW", "OIHW", "NCHW")
    return jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dims))


def applied(a, b, c, tokens):
    """Inference: a table, two weights, and indices into the table."""
    return jax.nn.relu(a[tokens] @ b) @ c


def programs():
    x = struct((8 * ROWS, WIDTH), "data")
    state = {"params": pair(), "mu": pair(jnp.bfloat16)}
    yield "saved", step, (state, x), ()
    yield "narrow", narrow, (struct((1 << 22,)),), ()
    if PLATFORM == "cuda":
        yield "turned", turned, (struct((64, 24, 56, 56), "data"), struct((40, 24, 3, 3))), ()
        return
    yield "exchanged", exchanged, (struct((8 * ROWS, 1032), "data"), struct((1032, 520), "data")), ()
    yield "ordered", ordered, (struct((1000 * 8 * ROWS,), "data"),), ()
    yield "looked_up", looked_up, (struct((512, 1000), "data"),), ()
    if PLATFORM == "tpu":
        return
    yield "remat", partial(step, around=jax.checkpoint), (state, x), (0,)
    yield "unnamed", unnamed, (*pair(), *pair(jnp.bfloat16), x), ()
    yield "turned", turned, (struct((64, 24, 56, 56), "data"), struct((40, 24, 3, 3))), ()
    weights = struct((3000, 512)), struct((512, 1024)), struct((1024, 320))
    yield "applied", applied, (*weights, struct((8 * 512,), "data", dtype=jnp.int32)), ()


def main():
    for name, function, given, donate in programs():
        options = {
            "xla_dump_to": str(OUT / name),
            "xla_dump_hlo_as_proto": True,
            "xla_dump_hlo_as_text": True,
        }
        jax.jit(function, donate_argnums=donate).lower(*given).compile(compiler_options=options)


main()
