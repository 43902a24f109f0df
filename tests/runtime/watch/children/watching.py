"""One watched loop with everything in it; prints what was seen as JSON, with line numbers of marked lines."""

import contextlib
import io
import json
import threading
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from contract_lint.runtime.watch import watch
from jax.experimental import io_callback


@partial(jax.jit, static_argnames="n")
def train_step(x, y, n=1):
    return x * y + n, jnp.sum(x)


@jax.jit
def chatty(x):
    jax.debug.print("sum {}", x.sum())  # at: print
    return jax.lax.scan(lambda c, _: (c + io_callback(np.sin, c, c), None), x, None, length=3)[0]  # at: io


@jax.jit
def early(x):
    jax.debug.callback(lambda value: float(value), x.sum())  # at: early
    return x


mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
sharded = jax.device_put(jnp.ones(8), jax.NamedSharding(mesh, jax.P("data")))
one = jnp.ones(8)
lines = {
    line.rsplit("# at: ")[-1]: i
    for i, line in enumerate(Path(__file__).read_text().splitlines(), 1)
    if "# at: " in line
}
early(one)
jax.effects_barrier()

with watch() as clean:
    for i in range(5):
        clean.step(i)
        sharded, total = train_step(sharded, 1.0)
        keys = jax.random.split(jax.random.key(i), 2)
        first, second = jnp.ones((2, 3))
        jax.block_until_ready(np.asarray(np.ones(3)) + jnp.ones(3))

before = type(one)._value, np.asarray, jax.config.jax_explain_cache_misses
with watch() as seen, contextlib.redirect_stdout(io.StringIO()):
    for value in (total, one.sum()):
        seen.step(seen.transfers[-1].index + 1 if seen.transfers else 0)
        float(value)  # at: float
        value.item()  # at: item
        print(value)  # at: shown
        f"{value:.2f}"  # at: formatted
        bool(value)  # at: bool
        jax.device_get(value)  # at: get
        np.asarray(value)  # at: asarray
        np.isnan(value)  # at: isnan
        value.tolist()  # at: tolist
    thread = threading.Thread(target=lambda: int(total))  # at: thread
    thread.start()
    thread.join()
    train_step(sharded, jnp.float32(1.0))  # at: weak
    with watch() as inner:
        chatty(one)
    with contextlib.suppress(ZeroDivisionError), watch():
        raise ZeroDivisionError
    early(one)
after = type(one)._value, np.asarray, jax.config.jax_explain_cache_misses
float(total)


def events(transfers):
    return [[t.kind, t.index, t.frames[0].line if t.frames else None] for t in transfers]


print(
    json.dumps(
        {
            "lines": lines,
            "clean": [clean.count("train_step"), events(clean.transfers)],
            "restored": before == after,
            "seen": events(seen.transfers),
            "inner": events(inner.callbacks),
            "recompiled": [[c.reason, c.argument, c.frames[0].line] for c in seen.compiles_of("train_step")],
            "paths": sorted({f.path for t in seen.transfers for f in t.frames}),
        }
    )
)
