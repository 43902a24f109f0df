"""What data-dependent-shape must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "a traced length beside static ones that are handed on from a dictionary in sight",
        """
        import jax
        import jax.numpy as jnp

        STATIC = {"static_argnums": (1,)}

        def fill(count, width):
            return jnp.zeros((count, width))  # bad

        filled = jax.jit(fill, **STATIC)
        """,
        run="filled(2, 3)",
        raises="TypeError",
    ),
    Example(
        "functions whose result is as long as the values say",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def active(x, labels):
            where = jnp.nonzero(x)  # bad
            kinds = jnp.unique(labels)  # bad
            rows = jnp.where(x > 0)  # bad
            counts = jnp.bincount(labels)  # bad
            return where, kinds, rows, counts, jnp.repeat(x, labels)  # bad
        """,
        raises="ConcretizationTypeError",
        run="active(jnp.ones(3), jnp.ones(3, int))",
    ),
    Example(
        "a mask as an index, in a helper of another file",
        """
        import jax
        from loss import masked_mean

        batched = jax.vmap(masked_mean)
        """,
        files={
            "loss.py": """
            import jax.numpy as jnp

            def kept(losses, mask):
                losses = losses.at[mask < 0].set(0.0)  # bad
                return losses[(mask > 0) & ~jnp.isnan(losses)]  # bad

            def masked_mean(losses, mask):
                return kept(losses, mask).mean()
            """
        },
        raises="NonConcreteBooleanIndexError",
        run="import jax.numpy as jnp\nbatched(jnp.ones((2, 3)), jnp.ones((2, 3)))",
    ),
    Example(
        "a slice with traced bounds",
        """
        import jax
        import jax.numpy as jnp

        def window(x, start):
            return x[start : start + 4]  # bad

        def crop(x, box):
            top = jnp.argmax(box)
            return x[:top, None] + window(x, top)  # bad

        crop_all = jax.jit(crop)
        """,
        raises="IndexError",
        run="crop_all(jnp.ones(8), jnp.ones(4))",
    ),
    Example(
        "a traced count of rounds",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        def power(steps, x):
            for _ in range(steps):  # bad
                x = x * 2
            return x

        raised = jax.jit(partial(power), static_argnames=())
        """,
        raises="TracerIntegerConversionError",
        run="raised(3, jnp.ones(2))",
    ),
    Example(
        "a traced length",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def table(x, lengths):
            longest = lengths.max()
            grid = jnp.zeros((longest, 4))  # bad
            steps = jnp.arange(longest)  # bad
            noise = jax.random.normal(jax.random.key(0), (longest,))  # bad
            return grid, steps, noise, x.reshape(longest, -1), jax.nn.one_hot(x, longest)  # bad
        """,
        raises="TypeError",
        run="table(jnp.ones(4), jnp.ones(2, int))",
    ),
)

GOOD = (
    Example(
        "static arguments that a decorator of the project hands on",
        """
        import functools
        import jax
        import jax.numpy as jnp

        def on_host(**options):
            def decorator(function):
                @functools.wraps(function)
                def wrapped(*args, **kwargs):
                    return jax.jit(function, **options)(*args, **kwargs)  # contract-lint: ignore[JIT102] a small one

                return wrapped

            return decorator

        @on_host(static_argnums=(1,))
        def encode(labels, count):
            return jax.nn.one_hot(labels, count)

        SETTINGS = {"static_argnames": ("count",)}
        encode_again = jax.jit(lambda labels, count: jax.nn.one_hot(labels, count), **SETTINGS)
        """,
        run="encode(jnp.ones(3, int), 4), encode_again(jnp.ones(3, int), count=4)",
    ),
    Example(
        "a fixed size",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def active(x, labels):
            where = jnp.nonzero(x, size=4, fill_value=0)
            kinds, counts = jnp.unique(labels, size=3, return_counts=True)
            spread = jnp.repeat(x, labels, total_repeat_length=8)
            options = {"size": 2}
            rows = jnp.nonzero(x > 0, **options)
            return where, kinds, counts, spread, rows, jnp.bincount(labels, length=4), jnp.repeat(x, 2)
        """,
        run="active(jnp.ones(3), jnp.ones(3, int))",
    ),
    Example(
        "masks that keep the shape",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def masked(x, mask):
            total = jnp.where(mask > 0, x, 0.0).sum() + jnp.sum(x, where=mask > 0)
            return total, x.at[jnp.argmax(x)].set(0.0), x * (x > 0), x[:, None] > 0
        """,
        run="masked(jnp.ones(3), jnp.ones(3))",
    ),
    Example(
        "traced integers as indices, windows of fixed length",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def window(x, start, rows):
            part = jax.lax.dynamic_slice_in_dim(x, start, 2)
            first = x[start]
            picked = x[rows]
            last = jax.lax.dynamic_slice(x, (start,), (2,))
            total = jax.lax.fori_loop(0, start, lambda i, total: total + x[i], 0.0)
            return part, first, picked, last, total
        """,
        run="window(jnp.arange(6.0), 2, jnp.array([1, 0]))",
    ),
    Example(
        "shapes from shapes and static arguments",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, static_argnames=("count", "limit"))
        def grid(x, count, limit=None):
            size = min(x.shape[0], count)
            out = jnp.zeros((size, x.ndim)) + jnp.arange(size)[:, None]
            for i in range(count):
                out = out + i
            head = x[: size // 2] if limit is None else x[:limit]
            n = len(x)

            def ring(row):
                count = jax.lax.psum(1, "rows")
                return jax.lax.ppermute(row, "rows", [(i, (i + 1) % count) for i in range(count)])

            x = jax.vmap(ring, axis_name="rows")(x)
            return out.reshape(size, -1), head, jnp.linspace(x[0], x[-1], n), x[:n]
        """,
        run="grid(jnp.ones(3), 2)",
    ),
    Example(
        "on the host, and under grad alone",
        """
        import jax
        import jax.numpy as jnp

        def hinge(w, x):
            margin = 1 - x @ w
            return margin[margin > 0].sum()

        slope = jax.grad(hinge)

        def select(w, x):
            good = jnp.nonzero(x[:, 0])[0]
            return slope(w, x[good]), jnp.unique(x)
        """,
        run="select(jnp.ones(2), jnp.ones((3, 2)))",
    ),
)
