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


def step(weight, stacked, x):
    def layer(carry, own):
        product = carry @ weight  # moves data
        product = jnp.tanh(product) @ own  # moves data
        return product, None

    x = jax.lax.scan(layer, x, stacked)[0]
    x = jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(MESH, P("data")))
    whole = jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P()))  # moves data
    columns = jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(None, "data")))  # moves data
    return whole, columns


def split(*spec, shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*spec)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lowered = jax.jit(step).lower(
            split("data", shape=(32, 32)), split(None, "data", shape=(3, 32, 32)), split("data", shape=(16, 32))
        )
        lowered.compile({"xla_dump_to": folder, "xla_dump_hlo_pass_re": "spmd-partitioning"})
        (partitioned,) = Path(folder).glob("*jit_step*after_spmd-partitioning*.txt")
        sys.stdout.write(partitioned.read_text())
