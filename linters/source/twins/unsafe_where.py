"""What unsafe-where must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "entropy and a root",
        """
        import jax
        import jax.numpy as jnp

        def surprise(p):
            return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))  # bad

        def length(x):
            return jnp.where(x == 0, 0.0, jnp.sqrt(x)).sum()  # bad

        slope = jax.grad(surprise)
        slope_of_length = jax.grad(length)
        """,
        run="p = jnp.array([0.0, 1.0])\nassert jnp.isnan(slope(p)[0]) and jnp.isnan(slope_of_length(p)[0])",
    ),
    Example(
        "in a helper of another file, by aliases",
        """
        import jax
        from ratios import ratio

        def loss(weights, batch):
            return ratio(batch["hits"], weights).sum()

        step = jax.jit(jax.value_and_grad(loss))
        """,
        files={
            "ratios.py": """
            from jax import lax
            from jax import numpy as xp

            choose = xp.where

            def ratio(a, b):
                empty = b == 0
                return choose(~empty, a / b, 0.0)  # bad

            def angle(c):
                inside = xp.abs(c) < 1.0
                return lax.select(inside, xp.arccos(c), xp.zeros_like(c))  # bad
            """
        },
        run="import jax.numpy as jnp\nassert jnp.isnan(step(jnp.zeros(2), {'hits': jnp.ones(2)})[1]).all()",
    ),
    Example(
        "a distance, its square tested and its root taken",
        """
        import jax
        import jax.numpy as jnp
        from functools import partial

        def inverse(r2):
            return jax.lax.rsqrt(r2)

        def potential(scale, positions):
            gaps = positions[:, None] - positions[None, :]
            r2 = jnp.sum(gaps**2, axis=-1)
            return jnp.sum(jnp.where(jnp.logical_and(r2 > 0, r2 < 9.0), scale * inverse(r2), 0.0))  # bad

        forces = jax.grad(partial(potential, 2.0))
        """,
        run="assert jnp.isnan(forces(jnp.ones((2, 3)) * jnp.arange(2.0)[:, None])).any()",
    ),
    Example(
        "clipped at the point itself",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def clipped(x):
            x = jnp.clip(x, 0.0)
            return jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0))  # bad

        @jax.grad
        def counted(x):
            x = jnp.maximum(x, -1.0) + 1.0
            return jnp.sum(jnp.where(x != 0, 1.0 / x, 0.0))  # bad

        @jax.grad
        def length(x):
            square = jnp.sum(x**2)
            return jnp.where(square > 0, jnp.sqrt(square), 0.0)  # bad

        @jax.grad
        def attended(scores):
            weights = jnp.exp(scores)  # of -inf it is 0
            total = jnp.sum(weights)
            return jnp.sum(jnp.where(total > 0, weights / total, 0.0))  # bad
        """,
        run="assert jnp.isnan(clipped(jnp.zeros(2))).all() and jnp.isnan(counted(-jnp.ones(2))).all()\n"
        "assert jnp.isnan(length(jnp.zeros(2))).all() and jnp.isnan(attended(jnp.full(2, -jnp.inf))).all()",
    ),
    Example(
        "nan looked for afterwards",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def loss(x, y):
            share = x / y
            share = jnp.where(jnp.isnan(share), 0.0, share)  # bad
            return share.sum()
        """,
        run="assert jnp.isnan(loss(jnp.zeros(2), jnp.zeros(2))).all()",
    ),
)

GOOD = (
    Example(
        "two wheres",
        """
        import jax
        import jax.numpy as jnp

        def safe_log(p):
            return jnp.log(jnp.where(p > 0, p, 1.0))

        @jax.grad
        def surprise(p):
            safe = jnp.where(p > 0, p, 1.0)
            return -jnp.sum(jnp.where(p > 0, p * jnp.log(safe), 0.0)) + jnp.sum(jnp.where(p > 0, safe_log(p), 0.0))
        """,
        run="assert jnp.isfinite(surprise(jnp.array([0.0, 1.0]))).all()",
    ),
    Example(
        "clamped, or with an epsilon",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def loss(p, eps=1e-6):
            a = jnp.where(p > 0, jnp.log(jnp.maximum(p, eps)), 0.0)
            b = jnp.where(p > 0, 1.0 / (p + eps), 0.0)
            c = jnp.where(p > 0, jnp.sqrt(jnp.clip(p, eps, 1.0)), 0.0)
            return jnp.sum(a + b + c)
        """,
        run="assert jnp.isfinite(loss(jnp.array([0.0, 1.0]))).all()",
    ),
    Example(
        "the name bound again to what is safe",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def clipped(x):
            x = jnp.clip(x, 1e-6)
            y = x.clip(max=0.5)
            return jnp.sum(jnp.where(x > 1e-6, jnp.log(x), 0.0) + jnp.where(y > 0, 1.0 / y, 0.0))

        @jax.grad
        def shifted(x, eps=1e-6):
            x = x + eps
            length = jnp.sqrt(jnp.where(x > 0, jnp.sum(x**2, keepdims=True) + 1e-12, 1.0))
            return jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0) + jnp.where(length > 0, 1.0 / length, 0.0))

        @jax.grad
        def limited(x, floor):
            x = jnp.maximum(floor, x)
            return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))

        @jax.grad
        def replaced(x):
            angle = jnp.clip(x, -0.999, 0.999)
            x = jnp.where(x > 0, x, 1.0)
            return jnp.sum(
                jnp.where(x > 0, jnp.log(x), 0.0) + jnp.where(jnp.abs(angle) < 1, jnp.arccos(angle), 0.0)
            )
        """,
        run="for slope in (clipped, shifted, replaced):\n"
        "    assert jnp.isfinite(slope(jnp.array([0.0, 1.0]))).all()\n"
        "assert jnp.isfinite(limited(jnp.array([0.0, 1.0]), 1e-3)).all()",
    ),
    Example(
        "a condition about something else, and arms that are finite",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def loss(logits, mask, scale):
            logits = jnp.where(mask, logits / scale, -1e9)
            elu = jnp.where(logits > 0, logits, jnp.exp(logits) - 1.0)
            return jnp.sum(elu) + jnp.sum(jnp.where(scale > 5, 2.0, 1.0))
        """,
        run="loss(jnp.ones(2), jnp.ones(2, bool), 2.0)",
    ),
    Example(
        "no gradient passes",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def accuracy(right, mask):
            count = jnp.sum(mask != 0)
            rate = jnp.sum(right) / count
            return jnp.where(count > 0, rate, 0.0)

        @jax.custom_vjp
        def unit(x):
            return jnp.where(x > 0, 1.0 / x, 0.0)

        def forward(x):
            return unit(x), x

        def backward(x, g):
            return (jnp.where(x > 0, -g / x**2, 0.0),)

        unit.defvjp(forward, backward)

        def clip_grads(grads):
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in grads))
            return [jnp.where(norm > 1.0, g / norm, g) for g in grads]
        """,
    ),
    Example(
        "a solver that is differentiated through the equations of its solution",
        """
        import dataclasses
        import jax
        import jax.numpy as jnp

        @dataclasses.dataclass
        class Descent:
            matrix: jax.Array
            implicit_diff: bool = True

            def run(self, x, rounds):
                return jax.lax.fori_loop(0, rounds, lambda _, x: step(self.matrix, x), x)

        def step(matrix, x):
            slope = jnp.diag(matrix)
            return x - jnp.where(slope == 0, 0.0, (matrix @ x) / slope)
        """,
        run="Descent(jnp.eye(2)).run(jnp.ones(2), 3)",
    ),
    Example(
        "behind stop_gradient, and shapes",
        """
        import jax
        import jax.numpy as jnp

        @jax.grad
        def loss(x):
            width = x.shape[0]
            weight = jax.lax.stop_gradient(x)
            weight = jnp.where(weight > 0, jax.lax.stop_gradient(1.0 / x), 0.0)
            return jnp.sum(x * weight) + jnp.where(width > 0, x.sum() / width, 0.0)
        """,
        run="assert jnp.isfinite(loss(jnp.array([0.0, 1.0]))).all()",
    ),
)
