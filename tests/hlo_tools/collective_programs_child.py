"""Compiles small programs for 8 CPU devices and prints, as JSON, their texts, protos and what they must contain.

What they must contain follows from the program alone: which jax collective runs over which mesh axes, how often, and
how many elements each device holds.
"""

import base64
import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PROGRAMS = {}


def program(spec, out, *expected, order=None, axes=(("data", 2), ("fsdp", 2), ("tp", 2)), shape=(16, 8)):
    """Registers `fn(x)` run under shard_map; `expected` rows are (kind, axes, executions, elements of one)."""

    def register(fn):
        PROGRAMS[fn.__name__] = (fn, spec, out, expected, order, axes, shape)
        return fn

    return register


@program(P("data"), P(), ("all-reduce", ["data"], 1, 64))
def sum_over_the_first_axis(x):
    return jax.lax.psum(x, "data")


@program(P("tp"), P(), ("all-reduce", ["tp"], 1, 64))
def sum_over_the_last_axis(x):
    return jax.lax.psum(x, "tp")


@program(P(("data", "tp")), P(), ("all-reduce", ["data", "tp"], 1, 32))
def sum_over_two_axes(x):
    return jax.lax.psum(x, ("data", "tp"))


@program(P(("data", "fsdp", "tp")), P(), ("all-reduce", ["data", "fsdp", "tp"], 1, 16))
def sum_over_all_axes(x):
    return jax.lax.psum(x, ("tp", "data", "fsdp"))


@program(P("fsdp"), P(), ("all-reduce", ["fsdp"], 1, 64), order=[5, 3, 0, 6, 1, 7, 2, 4])
def sum_on_a_mesh_of_shuffled_devices(x):
    return jax.lax.psum(x, "fsdp")


@program(P("fsdp"), P(), ("all-gather", ["fsdp"], 1, 128))
def gather(x):
    return jax.lax.all_gather(x, "fsdp", tiled=True)


@program(P(), P("tp"), ("reduce-scatter", ["tp"], 1, 128))
def scatter(x):
    return jax.lax.psum_scatter(x, "tp", tiled=True)


@program(P("data"), P("data"), ("all-to-all", ["data"], 1, 64))
def exchange(x):
    return jax.lax.all_to_all(x, "data", 1, 0, tiled=True)


@program(P("fsdp"), P("fsdp"), ("collective-permute", ["fsdp"], 1, 64))
def shift(x):
    return jax.lax.ppermute(x, "fsdp", [(0, 1), (1, 0)])


@program(P("ring"), P("ring"), ("collective-permute", ["ring"], 8, 16), axes=(("ring", 8),))
def rotate_in_a_loop(x):
    steps = [(i, (i + 1) % 8) for i in range(8)]
    return jax.lax.fori_loop(0, 8, lambda i, y: jax.lax.ppermute(y, "ring", steps) * 1.5, x)


@program(P("data"), P("data"), ("all-reduce", ["data"], 5, 64))
def sum_in_a_scan(x):
    def body(carry, _):
        return jnp.sin(jax.lax.psum(carry, "data")), None

    return jax.lax.scan(body, x, None, length=5)[0]


@program(P("data"), P("data"), ("all-reduce", ["data"], 12, 64), ("all-gather", ["tp"], 3, 128))
def loops_in_loops(x):
    def inner(carry, _):
        return jnp.cos(jax.lax.psum(carry, "data")), None

    def outer(carry, _):
        carry = jax.lax.scan(inner, carry, None, length=4)[0]
        gathered = jax.lax.all_gather(jnp.tanh(carry), "tp", tiled=True)
        return gathered[:8] + 1.0, None

    return jax.lax.scan(outer, x, None, length=3)[0]


@program(P("data"), P("data"), ("all-reduce", ["tp"], 1, 64), ("all-reduce", ["fsdp"], 0, 0))
def one_of_two_branches(x):
    def dear(y):
        return jax.lax.psum(jnp.sin(y), "tp")

    def cheap(y):
        return y + jax.lax.psum(jnp.cos(y[:1, :1]), "fsdp")

    return jax.lax.cond(x[0, 0] > 0, dear, cheap, x)


@program(P("data"), P("data"), ("all-reduce", ["data"], 3, 64))
def a_loop_that_counts_down(x):
    def body(state):
        i, y = state
        return i - 2, jnp.sin(jax.lax.psum(y, "data"))

    return jax.lax.while_loop(lambda s: s[0] > 3, body, (jnp.int32(8), x))[1]


def build(name):
    fn, spec, out, expected, order, axes, shape = PROGRAMS[name]
    devices = np.array(jax.devices())
    if order:
        devices = devices[order]
    names = tuple(axis for axis, _ in axes)
    mesh = Mesh(devices.reshape([size for _, size in axes]), names, axis_types=(AxisType.Auto,) * len(names))
    mapped = jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=out, check_vma=False)
    value = jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))
    compiled = jax.jit(mapped).lower(value).compile()
    module = compiled.runtime_executable().hlo_modules()[0]
    return {
        "text": compiled.as_text(),
        "proto": base64.b64encode(module.as_serialized_hlo_module_proto()).decode(),
        "axes": dict(axes),
        "expected": expected,
    }


print(json.dumps({name: build(name) for name in PROGRAMS}))
