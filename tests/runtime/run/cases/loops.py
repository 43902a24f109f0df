"""Steps that do to a training loop what a loop should not suffer, one for each `kind`."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def build(mesh, kind="clean"):
    def put(value, *spec):
        return jax.device_put(jnp.asarray(value, jnp.float32), NamedSharding(mesh, P(*spec)))

    def abstract(leaf):
        if isinstance(leaf, float):
            return leaf
        spec = P() if leaf.shape == (8, 4) else P("data")
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    def step(state, x, rate):
        loss = jnp.mean(jnp.square(x @ state["w"]))
        if kind == "debug_print":
            jax.debug.print("loss {}", loss)
        if kind == "io_callback":
            io_callback(lambda value: None, None, loss)
        new = state["w"] - rate * loss
        if kind == "placement":
            new = jax.lax.with_sharding_constraint(new, NamedSharding(mesh, P("data")))
        return {"w": new}, loss

    def example(i):
        rows = 16 if kind == "shape" and i == 2 else 8
        x = put(np.random.default_rng(i).normal(size=(rows, 8)), "data")
        rate = {"static": 0.1 * (i + 1), "weak": 0.1 if i == 0 else jnp.float32(0.1)}.get(kind, 0.1)
        if kind == "nan" and i == 1:
            x = x * jnp.nan
        if kind == "host":
            x = np.asarray(x)
        return ({"w": put(np.ones((8, 4)))}, x, rate), {}

    jitted = step
    if kind in ("reads", "anew"):
        inner = jax.jit(step)

        class Wrapped:
            """Looks like a jitted function; does more than that."""

            __name__ = "step"
            trace, lower = inner.trace, inner.lower

            def __call__(self, state, x, rate):
                if kind == "anew":
                    return jax.jit(lambda *args: step(*args))(state, x, rate)
                state, loss = inner(state, x, rate)
                self.last = float(loss)
                return state, loss

        jitted = Wrapped()
    return SimpleNamespace(
        fn=jitted,
        args=jax.tree.map(abstract, example(0)[0]),
        donate=() if jitted is not step else ("state",),
        static=("rate",) if kind == "static" else (),
        example=example,
        carry={0: "state"},
    )
