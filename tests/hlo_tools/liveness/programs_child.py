"""Child process: compile programs for eight devices of a platform and dump them: `PLATFORM FOLDER NAME...`."""

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

PLATFORM, OUT, NAMES = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]


def devices():
    if PLATFORM == "tpu":
        from jax.experimental import topologies

        return topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4").devices
    if PLATFORM == "cuda":
        from contract_lint.runtime.targets.cuda import CudaTarget

        return CudaTarget.parse("cuda:h100:1x8").devices()
    return jax.devices()


MESH = Mesh(np.array(devices()).reshape(2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
# What is small enough lives in a TPU's vector memory, and is not in question then.
MANY = 16 if PLATFORM == "tpu" else 1
RING = [(at, (at + 1) % 4) for at in range(4)]


def struct(shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, P(*spec)))


def sort_pairs(keys, values):
    first, second = jax.lax.sort((jnp.sin(keys), jnp.cos(values)), num_keys=1)
    return first + second


def ranks(x):
    return jnp.argsort(jnp.argsort(x, axis=1), axis=1)


def table_step(table, ids, labels):
    def loss(t):
        scores = jax.nn.log_softmax(t[ids] @ t.T)
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))

    return table - 0.1 * jax.grad(loss)(table)


def binned(x, ids):
    return jnp.zeros((1024, x.shape[1])).at[ids].add(x) + jax.ops.segment_sum(x * 2, ids, 1024)


def chosen(flag, x):
    return jax.lax.switch(flag, (lambda v: jnp.sort(v @ v.T, 0), lambda v: jnp.cumsum(v @ v.T, 0)), x) * 2


def patched(cache, new, at):
    def write(i, c):
        return jax.lax.dynamic_update_slice(c, jnp.sin(new) * i, (at + i, 0))

    return jax.lax.fori_loop(0, 4, write, cache), cache.sum()


def rotated(q, k):
    def body(_, carry):
        keys, made = carry
        return jax.lax.ppermute(keys, "model", RING), made + jax.nn.softmax(q @ keys.T) @ keys

    return jax.lax.fori_loop(0, 4, body, (k, jnp.zeros_like(q)))[1]


def spectrum(x):
    return jnp.abs(jnp.fft.rfft(x)).sum(0)


def half(weights):
    whole = NamedSharding(MESH, P())
    return jax.tree.map(lambda w: jax.lax.with_sharding_constraint(w.astype(jnp.bfloat16), whole), weights)


def split_step(weights, mu, nu, x):
    """The optimizer's state is split, weights are gathered in half precision."""

    def loss(narrow):
        h = x
        for w in narrow:
            h = jnp.maximum(h @ w, 0)
        return jnp.mean(h.astype(jnp.float32) ** 2)

    grads = jax.tree.map(lambda g: g.astype(jnp.float32), jax.grad(loss)(half(weights)))
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = jax.tree.map(lambda n, g: 0.9 * n + 0.1 * g * g, nu, grads)
    return jax.tree.map(lambda p, m, n: p - m / (jnp.sqrt(n) + 1e-6), weights, mu, nu), mu, nu


def accumulated(weights, mu, batches):
    def loss(ws, x):
        for w in ws:
            x = jax.nn.gelu(x @ w)
        return jnp.mean(x**2)

    def body(total, x):
        value, grads = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(jnp.add, total, grads), value

    grads, values = jax.lax.scan(body, jax.tree.map(jnp.zeros_like, weights), batches)
    mu = jax.tree.map(lambda m, g: (0.9 * m.astype(jnp.float32) + g).astype(jnp.bfloat16), mu, grads)
    return jax.tree.map(lambda p, m: p - 0.01 * m.astype(p.dtype), weights, mu), mu, values.mean()


def beam(table, start):
    def body(i, carry):
        tokens, scores = carry
        each = jax.nn.log_softmax(table[tokens[:, :, i]] @ table.T) + scores[..., None]
        best, at = jax.lax.top_k(each.reshape(each.shape[0], -1), 4)
        tokens = jnp.take_along_axis(tokens, (at // table.shape[0])[..., None], 1)
        return tokens.at[:, :, i + 1].set(at % table.shape[0]), best

    return jax.lax.fori_loop(0, 15, body, (start, jnp.zeros(start.shape[:2])))


def top_rows(x):
    values, at = jax.lax.top_k(jnp.abs(x), 64)
    return jnp.zeros_like(x).at[jnp.arange(x.shape[0])[:, None], at].set(values)


def means(x, centres):
    def body(_, c):
        far = jnp.sum(x**2, 1)[:, None] - 2 * x @ c.T + jnp.sum(c**2, 1)
        nearest = jax.nn.one_hot(jnp.argmin(far, 1), c.shape[0])
        return (nearest.T @ x) / jnp.maximum(nearest.sum(0), 1)[:, None]

    return jax.lax.fori_loop(0, 10, body, centres)


def staged(weights, x):
    def body(carry, given):
        h = jnp.tanh(jnp.where(jax.lax.axis_index("model") == 0, given, carry) @ weights[0])
        return jax.lax.ppermute(h, "model", RING), h

    return jax.lax.scan(body, jnp.zeros_like(x[0]), x)[1]


def nested(x, weights):
    def inner(h, w):
        return jnp.sin(h @ w), h.sum()

    def outer(h, ws):
        h, sums = jax.lax.scan(inner, h, ws)
        return h, sums.sum()

    def total(ws):
        h, sums = jax.lax.scan(jax.checkpoint(outer), x, ws)
        return h.sum() + sums.sum()

    return jax.grad(total)(weights)


def median(x):
    return jnp.median(jnp.sin(x), axis=0)


def programs():
    dtype = jnp.int32
    rows, tall = struct((64 * MANY, 20000), "data"), struct((512 * MANY, 4096), "data")
    yield "sort_pairs", sort_pairs, (rows, rows), ()
    yield "ranks", ranks, (rows,), ()
    ids = struct((512 * MANY,), "data", dtype=dtype)
    yield "table_step", table_step, (struct((8000, 256), None, "model"), ids, ids), (0,)
    yield "binned", binned, (struct((4096 * MANY, 256), None, "model"), struct((4096 * MANY,), dtype=dtype)), ()
    yield "chosen", chosen, (struct((), dtype=dtype), struct((1024, 512), "data")), ()
    cache = struct((2048 * MANY, 512), None, "model")
    yield "patched", patched, (cache, struct((128, 512), None, "model"), struct((), dtype=dtype)), (0,)
    mapped = partial(jax.shard_map, mesh=MESH, check_vma=False)
    yield "rotated", mapped(rotated, in_specs=P("model"), out_specs=P("model")), (struct((4096, 256), "model"),) * 2, ()
    yield "spectrum", spectrum, (tall,), ()

    square = [struct((768, 768), "data")] * 4
    x = struct((512 * MANY, 768), "data", dtype=jnp.bfloat16)
    yield "split_step", split_step, (square, square, square, x), (0, 1, 2)
    weights = [struct((512, 512), None, "model")] * 3
    narrow = [struct((512, 512), None, "model", dtype=jnp.bfloat16)] * 3
    yield "accumulated", accumulated, (weights, narrow, struct((4, 512 * MANY, 512), None, "data")), (0, 1)
    yield "beam", beam, (struct((8192, 256)), struct((8, 4, 16), "data", dtype=dtype)), ()
    yield "top_rows", top_rows, (tall,), ()
    yield "means", means, (struct((8192 * MANY, 128), "data"), struct((256, 128))), ()
    specs = {"in_specs": (P("model"), P(None, "data")), "out_specs": P(None, "data")}
    stages = struct((4, 512, 512), "model"), struct((8, 256 * MANY, 512), None, "data")
    yield "staged", mapped(staged, **specs), stages, ()
    yield "nested", nested, (struct((512 * MANY, 256), "data"), struct((4, 3, 256, 256), None, None, "model")), ()
    yield "median", median, (struct((4096, 512), None, "model"),), ()


def main():
    for name, function, given, donate in programs():
        if name in NAMES:
            options = {"xla_dump_to": str(OUT / name), "xla_dump_hlo_as_proto": True, "xla_dump_hlo_as_text": True}
            jax.jit(function, donate_argnums=donate).lower(*given).compile(compiler_options=options)


main()
