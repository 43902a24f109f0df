"""What array-item-assignment must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "arrays made here, in a traced function and on the host",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def fill(x):
            out = jnp.zeros(3)
            out[0] = x.sum()  # bad
            out[1:] += 2.0  # bad
            return out

        def host(positions: jax.Array):
            angles = positions[:, 0].astype("float32") * 0.5
            angles[0] = 1.0  # bad
            table = jnp.arange(4) * 2
            table[table > 2] = 0  # bad
            return table
        """,
        raises="TypeError",
        run="fill(jnp.ones(2))",
    ),
    Example(
        "what a helper of another file gives",
        """
        import jax
        from shapes import padded

        def shift(x):
            y = padded(x)
            y[..., 0] -= x[0] * 2  # bad
            return y

        shifted = jax.vmap(shift)
        """,
        files={
            "shapes.py": """
            import jax.numpy as jnp

            def padded(x):
                return jnp.pad(x, 1)
            """
        },
        raises="TypeError",
        run="import jax.numpy as jnp\nshifted(jnp.ones((2, 3)))",
    ),
    Example(
        "bodies of loops, indices that are tracers, what else is updated as an array is",
        """
        import jax
        import jax.numpy as jnp
        from flax import struct
        from jax import lax

        @struct.dataclass
        class State:
            q: jax.Array
            names: dict

        def solve(weights, x, rounds):
            def body(i, carry):
                x, total = carry
                x[i] = x[i] * 0.5  # bad
                total["sum"] = x.sum()
                return x, total

            return lax.fori_loop(0, rounds, body, (x, {"sum": weights.sum()}))

        def observe(state: State, flip):
            position = state.q
            position[1] = 0.0  # bad
            state.names["flip"] = flip
            return position

        def place(rows, values, first):
            if first:
                values[0] = 1.0  # bad
            return values.at[1].set(rows[0])

        @jax.jit
        def spread(potential, used, delta):
            at = jnp.where(used, 0, 1)
            potential[at] += delta  # bad
            return potential
        """,
        raises="TypeError",
        run="observe(State(jnp.ones(3), {}), True)",
    ),
    Example(
        "in a loop, an attribute, an argument indexed like an array",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        def place(offset, target):
            q = offset.start + jax.random.uniform(jax.random.key(0), (3,))
            q = q.at[0].set(1.0)
            q[1:] = target  # bad
            return q

        class Board:
            def __init__(self, size):
                self.cells = jnp.zeros((size, size))
                self.cells[0, 0] = 1.0  # bad

        def smooth(rounds, x):
            y = jnp.tanh(x)
            for i in range(rounds):
                y[i] = y[i] * 0.5  # bad
            x[:, 0] = 0.0  # bad
            return x + y

        smoothed = jax.jit(partial(smooth, 2))
        """,
        raises="TypeError",
        run="smoothed(jnp.ones((2, 2)))",
    ),
)

GOOD = (
    Example(
        "the functional update",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def fill(x):
            out = jnp.zeros(3)
            out = out.at[0].set(x.sum())
            out = out.at[1:].add(2.0)
            parts = jnp.split(jnp.arange(4.0), 2)
            parts[1] = out
            parts = [out, out * 2]
            parts[0] = out - 1
            named = {"a": out}
            named["b"] = out * x[0]
            return out, parts, named
        """,
        run="fill(jnp.ones(2))",
    ),
    Example(
        "NumPy arrays",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        apply = jax.jit(lambda x: x * 2)

        def batches(data, size):
            for i in range(0, len(data), size):
                batch = np.zeros((size, 2))
                batch[: len(data[i : i + size])] = 1.0
                out = np.array(apply(jnp.asarray(batch)))
                out[0, :] = 0.0
                yield out
        """,
        run="list(batches(np.ones((4, 2)), 2))",
    ),
    Example(
        "code for NumPy and for JAX",
        """
        import jax.numpy as jnp
        import numpy as np

        def first(count, use_jax):
            xp = jnp if use_jax else np
            out = xp.zeros(count)
            if use_jax:
                out = out.at[0].set(1.0)
            else:
                out[0] = 1.0
            return out

        def last(values, on_device):
            if on_device:
                values = values.at[-1].set(0.0)
            else:
                values[-1] = 0.0
            return values

        def clear(values, as_jax):
            table = jnp.asarray(values) if as_jax else np.array(values)
            if not as_jax:
                table[:] = 0.0
                return table
            return table.at[:].set(0.0)
        """,
        run="first(2, False), first(2, True), last(np.ones(2), False), clear([1.0], False)",
    ),
    Example(
        "arguments that may be trees",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(state, batch):
            state["step"] = state["step"] + 1
            batch[0] = batch[0] * 2
            carry = jax.tree.map(jnp.tanh, state)
            carry["loss"] = batch[0].sum()
            return carry, batch
        """,
        run="step({'step': jnp.zeros(())}, [jnp.ones(2), 1.0])",
    ),
    Example(
        "elements by their keys, and tables of the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scaled(params, rate):
            for name in params:
                params[name] = params[name] * rate
            for at, layer in enumerate(params["layers"]):
                params["layers"][at] = layer + 1
            return params

        def fill(table: np.ndarray, rows):
            for at in range(len(rows)):
                table[at] = rows[at]
            return jnp.asarray(table)
        """,
        run="fill(np.zeros(2), [1.0, 2.0])",
    ),
    Example(
        "a reference in a kernel, a variable of a module",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp
        from flax import nnx
        from jax.experimental import pallas as pl

        def kernel(x_ref: jax.Array, o_ref: jax.Array):
            o_ref[...] = x_ref[...] * 2
            o_ref[0, :] = jnp.zeros(x_ref.shape[1])
            view = o_ref.at[0].reshape(8, 16)
            view[0, :] = 1.0

        class Metadata(NamedTuple):
            offsets: jax.Array

        def plan(meta_ref: Metadata, sizes_ref):
            def body(i, total):
                meta_ref.offsets[i] = total
                return total + sizes_ref[i]

            jax.lax.fori_loop(0, 8, body, 0)

        def double(x):
            return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0))

            def __call__(self, x):
                self.count[...] = self.count[...] + 1
                return x
        """,
        run="Counter()(1)",
    ),
    Example(
        "tests that show that it is refused",
        """
        import unittest
        import jax.numpy as jnp
        import pytest

        def refused():
            x = jnp.zeros(3)
            with pytest.raises(TypeError, match="immutable"):
                x[0] = 1

        class Refused(unittest.TestCase):
            def test_assign(self):
                x = jnp.zeros(3)
                with self.assertRaises(TypeError):
                    x[0] = 1
                with self.assertRaisesRegex(TypeError, "immutable"):
                    x[1] += 1
        """,
        run="refused(), Refused('test_assign').debug()",
    ),
)
