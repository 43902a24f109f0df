"""What tracer-branch must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "an argument of a jitted function",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def clip(x, limit):
            if jnp.abs(x).max() > limit:  # bad
                x = x * 0.5
            return x
        """,
        raises="TracerBoolConversionError",
        run="clip(jnp.ones(3), 0.5)",
    ),
    Example(
        "an assertion in a helper of another file",
        """
        from functools import partial
        import jax
        from checks import require_finite

        @partial(jax.jit, static_argnames="scale")
        def forward(x, w, scale):
            return require_finite(x @ w) * scale
        """,
        files={
            "checks.py": """
            import jax.numpy as jnp

            def require_finite(x):
                assert bool(jnp.isfinite(x).all()), "not finite"  # bad
                return x
            """
        },
        raises="TracerBoolConversionError",
        run="import jax.numpy as jnp\nforward(jnp.ones((2, 2)), jnp.ones((2, 2)), 2.0)",
    ),
    Example(
        "the carry of a loop, and a closed-over argument",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def decode(tokens, temperature):
            def step(carry, token):
                total, count = carry
                if temperature > 0:  # bad
                    total = total + token
                total = 0.0 if count > 3 else total  # bad
                return (total, count + 1), total

            return jax.lax.scan(step, (jnp.float32(0), 0), tokens)
        """,
        raises="TracerBoolConversionError",
        run="decode(jnp.ones(4), 1.0)",
    ),
    Example(
        "where it is asked, not where it was computed",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def limited(x, debug=False):
            large = jnp.any(x > 1)
            finite = jnp.isfinite(x).all()
            if large:  # bad
                x = x / 2
            y = x if large else -x  # bad
            if (
                debug
                and finite  # bad
            ):
                return y
            assert not finite  # bad
            return x * bool(large)  # bad
        """,
        raises="TracerBoolConversionError",
        run="limited(jnp.ones(2))",
    ),
    Example(
        "a try whose handlers take other errors",
        """
        import contextlib
        import jax
        import jax.numpy as jnp

        @jax.jit
        def pick(x, table):
            total = x.sum()
            try:
                if total > table["limit"]:  # bad
                    x = x / total
            except KeyError:
                return x
            else:
                x = x * 2 if total > 1 else x  # bad
            finally:
                assert total > 0  # bad
            with contextlib.suppress(TypeError):
                if table:
                    return x
            return x if total > 1 else -x  # bad
        """,
        raises="TracerBoolConversionError",
        run="pick(jnp.ones(2), {'limit': 1.0})",
    ),
    Example(
        "and, or, not, min, while",
        """
        import jax
        import jax.numpy as jnp

        def search(x, y, debug=False):
            best = min(jnp.sum(x), jnp.sum(y))  # bad
            while best > 1.0:  # bad
                best = best * 0.5
            found = (best > 0) and debug  # bad
            return best if not jnp.any(x) else found  # bad

        search_all = jax.vmap(jax.jit(search), in_axes=(0, 0))
        """,
        raises="TracerBoolConversionError",
        run="search_all(jnp.ones((2, 3)), jnp.ones((2, 3)))",
    ),
    Example(
        "a method that is jitted when the object is made",
        """
        import jax
        import jax.numpy as jnp

        class Trainer:
            def __init__(self, rate):
                self.rate = rate
                self.step = jax.jit(self._step)

            def _step(self, params, grads):
                norm = jnp.linalg.norm(grads)
                if norm > 1.0:  # bad
                    grads = grads / norm
                return params - self.rate * grads
        """,
        raises="TracerBoolConversionError",
        run="Trainer(0.1).step(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "what layers give, and what a module is given",
        """
        import jax
        import jax.numpy as jnp
        from flax import linen as nn
        from flax import nnx

        class Block(nn.Module):
            def setup(self):
                self.out, self.inner = nn.Dense(4), nn.Dense(4)

            def __call__(self, x):
                assert x.mean() > 0  # bad
                h = self.inner(x)
                return self.out(h) if h.max() > 3 else -h  # bad

        class Layer(nnx.Module):
            def __init__(self, rngs):
                self.linear = nnx.Linear(3, 3, rngs=rngs)

            def __call__(self, x):
                return x if (x > 0).any() and self.linear(x).mean() > 0 else -x  # bad

        model = Block()

        @jax.jit
        def step(variables, x):
            out = model.apply(variables, x)
            return out if out.mean() > 3 else -out  # bad
        """,
        raises="TracerBoolConversionError",
        run="step(model.init(jax.random.key(0), jnp.ones(3)), jnp.ones(3))",
    ),
    Example(
        "membership, which compares",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def chosen(x):
            return x if x.sum() in (1, 2) else -x  # bad

        @jax.jit
        def absent(x):
            if 1 not in [x.sum(), 2]:  # bad
                return -x
            return x

        @jax.jit
        def within(x):
            return x if 1.0 in x * 2 else -x  # bad
        """,
        run="chosen(jnp.ones(3))",
        raises="TracerBoolConversionError",
    ),
)

GOOD = (
    Example(
        "what tracing can answer",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def attend(query, key, bias=None, extras=()):
            if query.ndim != 4 or key.shape[-1] != query.shape[-1]:
                raise ValueError(f"bad shapes {query.shape} {key.shape}")
            if len(query) > 1 and query.dtype == jnp.bfloat16:
                query = query.astype(jnp.float32)
            if bias is not None and isinstance(bias, jax.Array) and jnp.issubdtype(bias.dtype, jnp.floating):
                query = query + bias
            return jnp.where(query > 0, query, 0.0) if "relu" not in extras else query
        """,
        run="attend(jnp.ones((2, 2, 2, 2)), jnp.ones((2, 2, 2, 2)))",
    ),
    Example(
        "static arguments, flags bound by partial, fields of a module",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from flax import linen as nn

        @partial(jax.jit, static_argnums=(1,), static_argnames=("train",))
        def apply(x, layers, train=False):
            for _ in range(layers):
                x = jnp.tanh(x)
            return x * 2 if train and layers > 1 else x

        def step(params, x, *, capture, depth=2):
            return (x @ params, x) if capture and depth > 1 else (x @ params, None)

        captured = jax.jit(partial(step, capture=True))

        class Block(nn.Module):
            rate: float = 0.0

            @nn.compact
            def __call__(self, x, deterministic: bool = True):
                if self.rate > 0 and not deterministic:
                    x = nn.Dropout(self.rate, deterministic=False)(x)
                return x
        """,
        run="apply(jnp.ones(2), 2, train=True); captured(jnp.ones((2, 2)), jnp.ones(2))",
    ),
    Example(
        "on the host",
        """
        import jax
        import jax.numpy as jnp

        norm = jax.jit(lambda x: jnp.sqrt(jnp.sum(x * x)))

        def fit(x):
            while norm(x) > 1.0:
                x = x * 0.5
            if jnp.isnan(x).any():
                raise FloatingPointError("nan")
            return x
        """,
        run="fit(jnp.ones(3))",
    ),
    Example(
        "a callback runs on the host",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(x):
            def report(value):
                if value > 3:
                    print("large", value)

            jax.debug.callback(report, x.sum())
            return x + 1
        """,
        run="step(jnp.ones(8))",
    ),
    Example(
        "asked only of what is no tracer",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def scaled(x, scale):
            if not isinstance(scale, jax.core.Tracer) and scale > 1:
                return x * scale
            with jax.ensure_compile_time_eval():
                table = jnp.arange(4)
                if table.sum() > 3:
                    x = x + 1
            return x
        """,
        run="scaled(jnp.ones(2), 3.0)",
    ),
    Example(
        "where the error is caught",
        """
        import contextlib
        import jax

        @jax.jit
        def checked(x):
            try:
                if x.sum() > 3:
                    print("large")
            except (ValueError, TypeError):
                pass
            try:
                assert x.max() > 0
            except jax.errors.ConcretizationTypeError:
                x = x + 1
            with contextlib.suppress(Exception):
                x = -x if x.min() < 0 else x
            return x
        """,
        run="checked(jax.numpy.ones(2))",
    ),
    Example(
        "arms that only the host comes to",
        """
        import jax
        import jax.numpy as jnp

        def scaled(position, known=None):
            def scale(position):
                size = known
                if known is None:
                    size = jnp.abs(position).max()
                    if size < 0.5:
                        size = 0.5
                return position / size

            return scale(position) if known is None else jax.jit(scale)(position)

        def overlap(inside, union):
            ratio = inside / union
            if ratio.ndim == 0:
                ratio = 1.0 if jnp.isclose(union, 0) else ratio
            return ratio

        ratios = jax.vmap(overlap)
        """,
        run="scaled(jnp.ones(2)), scaled(jnp.ones(2), 2.0), ratios(jnp.ones((2, 2)), jnp.ones((2, 2)))",
    ),
    Example(
        "behind a flag that no traced call sets",
        """
        import jax
        import jax.numpy as jnp

        def check(x):
            if not jnp.isfinite(x).all():
                raise ValueError("not finite")

        def loss(logits, *, normalised=True, reduce="mean", checked=False):
            if not normalised:
                if jnp.abs(logits.sum() - 1.0) > 1e-3:
                    raise ValueError("no probabilities")
            if checked and reduce == "mean":
                check(logits)
            return logits.mean() if reduce == "mean" else below(logits, checked)

        def below(logits, checked):
            if checked and logits.max() > 1:
                raise ValueError("too large")
            return logits

        fast = jax.jit(loss)

        def run(x):
            return fast(x), loss(x, normalised=False, checked=True), below(x, True)
        """,
        run="fast(jnp.ones(3) / 3.0), loss(jnp.ones(3) / 3.0, normalised=False, checked=True)",
    ),
    Example(
        "specs of None, defaults that nobody replaces",
        """
        from functools import partial
        import jax
        from jax.sharding import PartitionSpec as P

        def make(mesh):
            @partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), None, None), out_specs=P("data"))
            def scaled(x, factor, flip):
                return -x * factor if flip and factor > 1 else x * factor

            return lambda x: scaled(x, 2, True)

        @jax.jit
        def power(x, exponent=2, repeat=3):
            for _ in range(repeat):
                x = x * x if exponent > 1 else x
            return x
        """,
        run="power(jax.numpy.ones(2))",
    ),
)
