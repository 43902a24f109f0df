"""Compiles one step for 8 CPU devices and prints it as partitioned. Data moves for the lines that say so."""

import os
import sys
import tempfile
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

MESH = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))


def step(weight, narrow, x):
    def layer(carry, _):
        product = carry @ weight  # moves data
        return jnp.tanh(product), None

    x = jax.lax.scan(layer, x, None, length=3)[0]
    cast = narrow.astype(jnp.bfloat16)
    x = x.astype(jnp.bfloat16) @ cast  # moves data
    x = jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(MESH, P("data")))
    whole = jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P()))  # moves data
    columns = jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(None, "data")))  # moves data
    return whole, columns


def split(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P("data")))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lowered = jax.jit(step).lower(split(32, 32), split(32, 64), split(16, 32))
        lowered.compile({"xla_dump_to": folder, "xla_dump_hlo_pass_re": "spmd-partitioning"})
        (partitioned,) = Path(folder).glob("*jit_step*after_spmd-partitioning*.txt")
        sys.stdout.write(partitioned.read_text())
