"""Steps for targets that only compile: unplaced arguments, `jax.devices()`, one too large, a compiler that hangs."""

from __future__ import annotations

import time
import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def _placed(mesh: Any, shape: tuple[int, ...], *axes: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*axes)))


def _update(params: Any, x: Any) -> Any:
    return params - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(params)


def replicated(mesh: Any, rows: int = 64) -> Any:
    """Data parallel over every axis: one all-reduce."""
    args = (_placed(mesh, (128, 128)), _placed(mesh, (rows, 128), tuple(mesh.axis_names)))
    return types.SimpleNamespace(fn=_update, args=args, donate="params")


def calls_the_host(mesh: Any) -> Any:
    """Three kinds of callback, one of them inside of a loop."""

    def fn(params, x):
        def layer(c, _):
            jax.debug.print("largest {}", jnp.max(c))
            return jnp.tanh(c @ params), None

        loss = jnp.mean(jax.lax.scan(layer, x, length=2)[0] ** 2)
        scale = jax.pure_callback(lambda value: value, jax.ShapeDtypeStruct((), jnp.float32), loss)
        io_callback(lambda value: None, None, loss)
        return params * scale

    args = (_placed(mesh, (128, 128)), _placed(mesh, (64, 128), tuple(mesh.axis_names)))
    return types.SimpleNamespace(fn=fn, args=args, donate="params")


def bare() -> Any:
    """Nothing is placed anywhere; the arguments are real arrays."""
    return types.SimpleNamespace(fn=_update, args=(jnp.ones((128, 128)), jnp.ones((64, 128))))


def asks_for_devices() -> Any:
    """Code that makes its own mesh over whatever `jax.devices()` has."""
    assert jax.process_count() == 1
    assert jax.device_count() == jax.local_device_count() == len(jax.devices()) == len(jax.local_devices())
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    assert jax.devices("cpu")[0].platform == "cpu"
    return replicated(mesh)


def too_large(mesh: Any, rows: int = 1 << 19) -> Any:
    """Every layer's activations are kept for the backward pass."""

    def loss(w, x):
        def layer(c, w):
            return jnp.tanh(c @ w), None  # at: layer

        return jnp.sum(jax.lax.scan(layer, x, w)[0] ** 2)

    def fn(params, x):
        return params - jax.grad(loss)(params, x)

    args = (_placed(mesh, (64, 2048, 2048)), _placed(mesh, (rows, 2048), tuple(mesh.axis_names)))
    return types.SimpleNamespace(fn=fn, args=args, donate="params")


def hangs(mesh: Any) -> Any:
    """The compiler never comes back."""
    jax.stages.Lowered.compile = lambda *_, **__: time.sleep(3600)
    return replicated(mesh)


def never_done(mesh: Any) -> Any:
    """The capture is written but for its last act, the name of the manifest, which never comes."""
    Path.rename = lambda *_: time.sleep(3600)
    return replicated(mesh)


def breaks(mesh: Any) -> Any:
    """The compiler fails on a check of its own."""

    def compile(*_: Any, **__: Any) -> Any:
        raise jax.errors.JaxRuntimeError(
            "INTERNAL: RET_CHECK failure (hlo_instruction.cc:390) proto.operand_ids_size() == *arity"
        )

    jax.stages.Lowered.compile = compile
    return replicated(mesh)


def with_option(name: str, value: Any = True) -> Any:
    """Asks the compiler for an option."""
    fn = jax.jit(lambda x: x + 1, compiler_options={name: value})
    return types.SimpleNamespace(fn=fn, args=(jax.ShapeDtypeStruct((8,), jnp.float32),))


def unknown_option() -> Any:
    return with_option("xla_no_such")


def unreadable_value() -> Any:
    return with_option("xla_dump_max_hlo_modules", "many")


def puts_a_value(mesh: Any) -> Any:
    """Parameters as they would be on a machine that has such devices."""
    weights = jax.device_put(np.ones((128, 128), np.float32), NamedSharding(mesh, P()))  # at: put
    return types.SimpleNamespace(fn=_update, args=(weights, _placed(mesh, (64, 128), mesh.axis_names)))


def computes_a_value(mesh: Any) -> Any:
    def initialised() -> Any:
        return jax.jit(lambda: jnp.zeros((128, 128)), out_shardings=NamedSharding(mesh, P()))()  # at: computed

    return types.SimpleNamespace(fn=_update, args=(initialised(), _placed(mesh, (64, 128), mesh.axis_names)))


def computes_on_the_host(mesh: Any) -> Any:
    """Shapes for the step; what `build` itself needs to know is computed on the host."""
    with jax.default_device(jax.devices("cpu")[0]):
        rows = int(jnp.sum(jnp.ones(64)))
    weights = jax.eval_shape(lambda: jnp.zeros((128, 128)))
    return types.SimpleNamespace(fn=_update, args=(weights, _placed(mesh, (rows, 128), mesh.axis_names)))
