"""Steps small enough to capture in a second each; a comment `# at: name` marks the line a test expects."""

from __future__ import annotations

import types
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

TABLE = np.ones((64, 1024), np.float32)


def placed(mesh: Any, shape: tuple[int, ...], *axes: Any, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*axes)))


def step(**attributes: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(**attributes)


def explicit(mesh: Mesh) -> Mesh:
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit,) * mesh.devices.ndim)


def linear(mesh: Mesh, width: int = 256) -> Any:
    state = {"w": placed(mesh, (64, width), "fsdp"), "b": placed(mesh, (8,))}

    def train(state, batch, unused):  # at: linear
        def loss(p):
            return jnp.mean((batch["x"] @ p["w"]) ** 2) + jnp.sum(p["b"])  # at: linear-dot

        value, grads = jax.value_and_grad(loss)(state)
        return jax.tree.map(lambda a, b: a - 0.1 * b, state, grads), {"loss": value}

    batch = {"x": placed(mesh, (32, 64), ("data", "fsdp"))}
    return step(fn=train, args=(state, batch, jax.ShapeDtypeStruct((3,), jnp.int32)), donate="state")


def everything(mesh: Mesh) -> Any:
    """One of each fact a jaxpr can hold."""

    def layer(x, w):
        return x + jnp.tanh(x @ w) * 2.0

    def fn(x, weights, key, mode):
        for i in range(4):
            x = layer(x, weights[i])  # at: unrolled
        q, k, v = (x @ weights[i] for i in range(3))
        x = q + k + v
        jax.debug.print("x {}", x[0, 0])  # at: print

        def body(c, w):
            c = jax.checkpoint(layer, policy=jax.checkpoint_policies.nothing_saveable)(c, w)  # at: remat
            jax.debug.callback(lambda value: None, c[0, 0])  # at: callback
            return c, None

        x, _ = jax.lax.scan(body, x, weights)  # at: scan
        x = x + jax.random.normal(key, x.shape)
        y = jax.experimental.io_callback(  # at: io
            lambda value: value, jax.ShapeDtypeStruct((), jnp.float32), x[0, 0], ordered=True
        )
        summed = jax.shard_map(
            lambda a: jax.lax.psum(a, "data"),  # at: psum
            mesh=mesh,
            in_specs=P("data"),
            out_specs=P(),
        )(x)
        scaled = (x @ TABLE).sum() * (2.0 if mode == "double" else 1.0)  # at: table
        return scaled + y, summed

    weights = placed(mesh, (4, 64, 64), None, "fsdp")
    return step(fn=fn, args=(placed(mesh, (8, 64), "data"), weights, jax.random.key(0), "double"), static="mode")


def jitted(mesh: Mesh) -> Any:
    """Already jitted, with a static argument and donation of its own, and a keyword argument."""

    def fn(scale, x, *, shift):
        return x * scale + shift

    made = jax.jit(fn, static_argnums=0, donate_argnums=1)
    return step(fn=made, args=(3, placed(mesh, (8, 8), "fsdp")), kwargs={"shift": placed(mesh, (8, 8), None, "data")})


def module(mesh: Mesh) -> Any:
    """A flax module and optimizer under nnx.jit, as plain flax code has them."""
    model = nnx.Linear(8, 16, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

    @nnx.jit(donate_argnums=(0, 1))
    def train(model, optimizer, x):
        def loss(model):
            return jnp.mean(model(x) ** 2)

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    return step(fn=train, args=(model, optimizer, placed(mesh, (8, 8), "data")))


def abstract_mesh(mesh: Mesh) -> Any:
    """Leaves that carry an AbstractMesh, as `jax.eval_shape` of an optimizer leaves them."""
    abstract = AbstractMesh((2, 4), ("data", "fsdp"), axis_types=(AxisType.Explicit,) * 2)
    return step(fn=lambda x: x * 2, args=(placed(abstract, (8, 8), None, "fsdp"),))


def own_mesh() -> Any:
    """Asks for devices itself."""
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    return step(fn=lambda a: a * 2, args=(placed(mesh, (8, 8), "x"),))


def compiler_chooses(mesh: Mesh) -> Any:
    """The argument has no placement: the compiler picks one."""

    def fn(x):
        return jax.lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P(None, ("fsdp", "data"))))

    return step(fn=fn, args=(jax.ShapeDtypeStruct((16, 32), jnp.float32),))


def rematerialized(mesh: Mesh) -> Any:
    """A change of placement the partitioner only manages by gathering everything."""
    cube = Mesh(mesh.devices.reshape(2, 2, 2), ("a", "b", "c"))

    def to(x, *axes):
        return jax.lax.with_sharding_constraint(x, NamedSharding(cube, P(*axes)))  # at: rematerialized

    return step(
        fn=lambda x: to(jnp.sin(to(x, ("a", "b", "c"))), None, ("c", "a")),
        args=(jax.ShapeDtypeStruct((16, 16, 32), jnp.float32),),
    )


def unusable_donation(mesh: Mesh) -> Any:
    return step(fn=lambda x: x.sum(), args=(jax.ShapeDtypeStruct((4,), jnp.float32),), donate=0)  # at: unusable


def indivisible(mesh: Mesh) -> Any:
    return step(fn=lambda batch: batch["x"] * 2, args=({"x": placed(mesh, (7, 4), "data")},))  # at: indivisible


def unknown_axis(mesh: Mesh) -> Any:
    return step(fn=lambda x: x, args=(placed(mesh, (8, 4), "fspd"),))


def unknown_axis_in_step(mesh: Mesh) -> Any:
    def fn(x):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("modle")))  # at: unknown_axis_in_step

    return step(fn=fn, args=(placed(mesh, (8, 4)),))


def unknown_axis_of_psum(mesh: Mesh) -> Any:
    def inner(x):
        return jax.lax.psum(x, "datta")  # at: unknown_axis_of_psum

    return step(
        fn=lambda x: jax.shard_map(inner, mesh=mesh, in_specs=P("data"), out_specs=P())(x), args=(placed(mesh, (8, 4)),)
    )


def ambiguous(mesh: Mesh) -> Any:
    def fn(x, w):
        return x @ w  # at: ambiguous

    other = explicit(mesh)
    return step(fn=fn, args=(placed(other, (8, 16), "data", "fsdp"), placed(other, (16, 8), "fsdp")))


def mismatch(mesh: Mesh) -> Any:
    def fn(x, y):
        return x + y  # at: mismatch

    other = explicit(mesh)
    return step(fn=fn, args=(placed(other, (8, 16), "data"), placed(other, (8, 16), "fsdp")))


def incompatible_devices(mesh: Mesh) -> Any:
    lonely = jax.device_put(np.ones((8, 4), np.float32), mesh.devices.flat[0])
    return step(fn=lambda x, y: x + y, args=(lonely, placed(mesh, (8, 4), "data")))  # at: incompatible_devices


def concretization(mesh: Mesh) -> Any:
    def fn(x):
        return x if x.sum() > 0 else -x  # at: concretization

    return step(fn=fn, args=(placed(mesh, (8, 4)),))


def wrong_shapes(mesh: Mesh) -> Any:
    def fn(x):
        return x @ x  # at: wrong_shapes

    return step(fn=fn, args=(placed(mesh, (8, 4)),))


def wrong_in_build(mesh: Mesh) -> Any:
    jax.eval_shape(lambda x: x @ x, jax.ShapeDtypeStruct((3, 4), jnp.float32))  # at: wrong_in_build
    return step(fn=lambda x: x, args=())


def signed(mesh: Mesh) -> Any:
    """Takes batches of several shapes."""
    return step(
        fn=lambda w, batch: (batch["tokens"] @ w).sum(),
        args=(placed(mesh, (16, 4)), {"tokens": placed(mesh, (8, 16), "data")}),
    )


def user_error(mesh: Mesh) -> Any:
    def fn(x):
        return {}["nothing"]  # at: user_error

    return step(fn=fn, args=(placed(mesh, (8, 4)),))


def build_error(mesh: Mesh) -> Any:
    raise RuntimeError("no data today")  # at: build_error


def no_fn(mesh: Mesh) -> Any:
    return step(args=())


def bad_donate(mesh: Mesh) -> Any:
    return step(fn=lambda x: x, args=(placed(mesh, (8, 4)),), donate="state")


def exits(mesh: Mesh) -> Any:
    raise SystemExit("giving up")


def aborts(mesh: Mesh) -> Any:
    import os
    import sys

    print("about to die", file=sys.stderr, flush=True)
    os.abort()  # at: aborts


def sleeps(mesh: Mesh) -> Any:
    import time

    time.sleep(600)


def rude(mesh: Mesh) -> Any:
    """Closes what it did not open, and leaves a thread that would keep the process."""
    import os
    import sys
    import threading
    import time

    threading.Thread(target=time.sleep, args=(600,)).start()
    sys.stdout.close()
    os.closerange(3, 64)
    return step(fn=lambda x: x * 2, args=(placed(mesh, (8, 8), "data"),))


def interrupts(mesh: Mesh) -> Any:
    raise KeyboardInterrupt  # at: interrupts


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def unspeakable(mesh: Mesh) -> Any:
    raise Unspeakable  # at: unspeakable


def returns_nothing(mesh: Mesh) -> Any:  # at: returns_nothing
    return None


def recursive(mesh: Mesh) -> Any:
    return recursive(mesh)
