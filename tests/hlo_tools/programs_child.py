"""Child process: compile small training programs for eight CPU devices, dump them, and write what XLA says of each."""

import json
import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

OUT = Path(sys.argv[1])
MESH = jax.make_mesh((2, 4), ("data", "fsdp"), axis_types=(AxisType.Auto,) * 2)
LAYERS, WIDTH, BATCH, INPUT = 4, 256, 64, 64


def struct(shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, P(*spec)))


def parameters():
    return {"emb": struct((INPUT, WIDTH), None, "fsdp"), "w": struct((LAYERS, WIDTH, WIDTH), None, "fsdp", None)}


def loss(params, x, remat=True):
    def layer(h, w):
        with jax.named_scope("block"):
            return jnp.tanh(h @ w), None

    with jax.named_scope("embed"):
        h = x @ params["emb"]
    h, _ = jax.lax.scan(jax.checkpoint(layer) if remat else layer, h, params["w"])
    return jnp.mean(h**2)


def momentum_step(state, batch, remat=True):
    value, grads = jax.value_and_grad(loss)(state["params"], batch, remat)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, state["mu"], grads)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], moments)
    return {"params": params, "mu": moments, "step": state["step"] + 1}, value


def momentum_state():
    return {"params": parameters(), "mu": parameters(), "step": struct((), dtype=jnp.int32)}


def adam_step(state, batch, microbatches=2):
    tx = optax.adamw(1e-3)

    def body(carry, x):
        value, grads = jax.value_and_grad(loss)(state["params"], x)
        return (carry[0] + value, jax.tree.map(jnp.add, carry[1], grads)), None

    zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state["params"]))
    (value, grads), _ = jax.lax.scan(body, zero, batch.reshape(microbatches, -1, batch.shape[-1]))
    updates, opt_state = tx.update(grads, state["opt_state"], state["params"])
    return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, value


def adam_state():
    opt_state = jax.eval_shape(optax.adamw(1e-3).init, parameters())
    placed = jax.tree.map(lambda s: struct(s.shape, *((None, "fsdp") if s.ndim > 1 else ()), dtype=s.dtype), opt_state)
    return {"params": parameters(), "opt_state": placed}


def known_peak(x):
    """x, a and b are split by rows; the product needs all rows of b on every device."""
    a = jax.lax.optimization_barrier(jnp.sin(x))
    b = jax.lax.optimization_barrier(jnp.cos(a))
    return jnp.sum(a @ b)


def branches(x, flag):
    return jax.lax.cond(flag, lambda v: jnp.sort(v, axis=0) + 1, lambda v: v @ v.T @ v, x)


def gathered(x):
    def inner(v):
        whole = jax.lax.all_gather(v, "fsdp", tiled=True)
        return jax.lax.psum_scatter(whole * 2, "fsdp", tiled=True)

    return jax.shard_map(inner, mesh=MESH, in_specs=P("fsdp", None), out_specs=P("fsdp", None))(x)


def table(i):
    return jnp.arange(1 << 16, dtype=jnp.int32)[i] + jnp.asarray(list(range(4096)))[i]


def while_loop(x):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 1e6, lambda c: c @ c + jnp.where(c > 0, c, -c), x)


def nnx_step(model, optimizer, batch):
    def objective(m):
        return jnp.mean(m(batch["x"]) ** 2)

    value, grads = nnx.value_and_grad(objective)(model)
    optimizer.update(model, grads)
    return value


def programs():
    x = struct((BATCH, INPUT), "data", None)
    yield "momentum", momentum_step, (momentum_state(), x), (0,)
    yield "not_donated", momentum_step, (momentum_state(), x), ()
    yield "no_remat", lambda s, b: momentum_step(s, b, remat=False), (momentum_state(), x), (0,)
    yield "adam_microbatched", adam_step, (adam_state(), x), (0,)
    yield "known_peak", known_peak, (struct((2048, 2048), ("data", "fsdp"), None),), ()
    yield "branches", branches, (struct((256, 256)), struct((), dtype=jnp.bool_)), ()
    yield "gathered", gathered, (struct((512, 64), "fsdp", None),), ()
    yield "table", table, (struct((1024,), dtype=jnp.int32),), ()
    yield "while_loop", while_loop, (struct((128, 128), "data", "fsdp"),), ()
    yield "bf16", lambda a, b: (a @ b).astype(jnp.float32).sum(0), (
        struct((512, 512), "data", None, dtype=jnp.bfloat16),
        struct((512, 512), None, "fsdp", dtype=jnp.bfloat16),
    ), ()  # fmt: skip


def path_name(path):
    return "/".join(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path)


def leaf_rows(tree, argument, donated=False):
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        {
            "argument": argument,
            "path": path_name(path),
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "donated": donated,
        }
        for path, value in flat
    ]


def main():
    found = {}
    for name, function, arguments, donate in programs():
        folder = OUT / name
        options = {
            "xla_dump_to": str(folder),
            "xla_dump_hlo_as_proto": True,
            "xla_dump_hlo_as_text": True,
            "xla_dump_hlo_pass_re": "spmd-partition.*|.*shardy.*",
        }
        compiled = jax.jit(function, donate_argnums=donate).lower(*arguments).compile(compiler_options=options)
        stats = compiled.memory_analysis()
        found[name] = {
            "argument_bytes": stats.argument_size_in_bytes,
            "output_bytes": stats.output_size_in_bytes,
            "alias_bytes": stats.alias_size_in_bytes,
            "temp_bytes": stats.temp_size_in_bytes,
        }
    model = nnx.Linear(8, 16, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    leaves = leaf_rows(nnx.state(model), "model") + leaf_rows(nnx.state(optimizer), "optimizer")
    found["nnx leaves"] = leaves + leaf_rows({"x": jnp.zeros((4, 8))}, "batch")
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.trace(0.9))
    tree = {"dense": {"kernel": jnp.zeros((8, 16)), "bias": jnp.zeros(16)}}
    state = {"params": tree, "opt": chain.init(tree), "key": jax.random.key(0)}
    found["optax leaves"] = leaf_rows(state, "state", donated=True) + leaf_rows({"x": jnp.zeros((4, 8))}, "batch")
    (OUT / "programs.json").write_text(json.dumps(found))


main()
