"""What key-reuse must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "a key that was split is used again",
        """
        import jax

        def setup(key, count):
            key, sub = jax.random.split(key)
            first = jax.random.normal(key, (count,))
            second = jax.random.uniform(key, (count,))  # bad
            return first, second, sub

        def parent(key):
            left, right = jax.random.split(key)
            return jax.random.normal(left), jax.random.normal(right), jax.random.normal(key)  # bad
        """,
    ),
    Example(
        "a function inside that uses the key round it, twice the same key in a list",
        """
        import jax

        def pair(key):
            def one():
                return jax.random.normal(key)

            return one(), one()  # bad

        def several(key):
            return [jax.random.normal(each) for each in [key] * 3]  # bad
        """,
    ),
    Example(
        "each round of a loop",
        """
        import jax

        def layers(key, sizes):
            return [jax.random.normal(key, (size,)) for size in sizes]  # bad

        def rollout(key, steps):
            total = 0.0
            for step in range(steps):
                total += jax.random.normal(key)  # bad
            return total
        """,
    ),
    Example(
        "each round of a loop, after a helper used it up",
        """
        import jax

        def init(key):
            return jax.random.normal(key, (3,))

        def train(key, batches):
            params = init(key)
            for batch in batches:
                params = params + batch * jax.random.bernoulli(key, 0.5, (3,))  # bad
            return params
        """,
    ),
    Example(
        "a helper uses it up",
        """
        import jax
        from noise import jitter

        def augment(key, image):
            image = jitter(key, image)
            return image + jax.random.normal(key, image.shape)  # bad
        """,
        files={
            "noise.py": """
            import jax

            def shift(rng, x):
                return x + jax.random.uniform(rng)

            def jitter(rng, x, scale=1.0):
                return shift(rng, x) * scale
            """
        },
    ),
    Example(
        "the body of a scan, and tree.map",
        """
        import jax

        def simulate(key, xs):
            def body(carry, x):
                return carry + jax.random.normal(key, x.shape), carry  # bad

            return jax.lax.scan(body, 0.0, xs)

        def perturb(key, params):
            return jax.tree.map(lambda p: p + jax.random.normal(key, p.shape), params)  # bad
        """,
    ),
    Example(
        "every shard gets the same key",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        def make_dropout(mesh, rate):
            def drop(key, x):
                return x * jax.random.bernoulli(key, 1.0 - rate, x.shape)  # bad

            return jax.shard_map(drop, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data"))
        """,
    ),
    Example(
        "an attribute, an element, an equal fold_in",
        """
        import jax

        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def pair(self):
                return jax.random.normal(self.key), jax.random.uniform(self.key)  # bad

        def elements(key):
            keys = jax.random.split(key, 3)
            a = jax.random.normal(keys[0])
            b = jax.random.normal(keys[1])
            return a + b + jax.random.gumbel(keys[0])  # bad

        def folded(key):
            a = jax.random.normal(jax.random.fold_in(key, 1))
            return a + jax.random.normal(jax.random.fold_in(key, 1))  # bad
        """,
    ),
)

GOOD = (
    Example(
        "a function inside that moves the key on, or uses it once",
        """
        import jax

        def pair(key):
            def one():
                nonlocal key
                key, sub = jax.random.split(key)
                return jax.random.normal(sub)

            return one(), one()

        def either(key, flag):
            def one():
                return jax.random.normal(key)

            def other(key):
                return jax.random.uniform(key)

            left, right = jax.random.split(jax.random.key(0))
            return [one() if flag else one(), other(left), other(right)]
        """,
    ),
    Example(
        "several arrays are shuffled alike",
        """
        import jax

        def epoch(key, images, labels, extras):
            images = jax.random.permutation(key, images)
            labels = jax.random.permutation(key, labels)
            return images, labels, jax.tree.map(lambda x: jax.random.permutation(key, x), extras)

        def fisher_yates(key, values, count):
            keys = jax.random.split(key, count)

            def swap(values, at):
                other = jax.random.randint(keys[at], (), at, count)
                return values.at[at].set(values[other]).at[other].set(values[at]), None

            return jax.lax.scan(swap, values, jax.numpy.arange(count))
        """,
    ),
    Example(
        "rebound, split, folded in",
        """
        import jax

        def chain(key, steps):
            out = []
            for step in range(steps):
                key, sub = jax.random.split(key)
                out.append(jax.random.normal(sub))
            key, sub = jax.random.split(key)
            out.append(jax.random.uniform(sub))
            return out, key

        def folded(key, steps):
            noise = [jax.random.normal(jax.random.fold_in(key, step)) for step in range(steps)]
            return noise, jax.random.normal(jax.random.fold_in(key, steps))

        def elements(key, shapes):
            keys = jax.random.split(key, len(shapes) + 1)
            parts = [jax.random.normal(k, s) for k, s in zip(keys, shapes)]
            for i, shape in enumerate(shapes):
                parts.append(jax.random.normal(keys[i + 1], shape))
            return parts
        """,
    ),
    Example(
        "one use on each path",
        """
        import jax

        def init(key, kind, shape):
            if kind == "normal":
                return jax.random.normal(key, shape)
            if kind == "uniform":
                return jax.random.uniform(key, shape)
            return jax.random.bernoulli(key, 0.5, shape) if kind == "coin" else jax.random.gumbel(key, shape)

        def noise(key, x, train):
            if train:
                x = x + jax.random.normal(key, x.shape)
            if not train:
                x = x + jax.random.uniform(key, x.shape)
            return x

        def first(key, tries):
            for limit in tries:
                if limit > 0:
                    return jax.random.normal(key) * limit
            return jax.random.uniform(key)
        """,
    ),
    Example(
        "cases of a test begin alike",
        "",
        files={
            "tests/test_layers.py": """
            import jax

            def test_shapes():
                key = jax.random.key(0)
                for shape in ((2,), (3, 4)):
                    x = jax.random.normal(key, shape)
                    mask = jax.random.bernoulli(key, 0.5, shape)
                    assert (x * mask).shape == shape
            """
        },
    ),
    Example(
        "a stream on an object",
        """
        import jax

        class Stream:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def next(self):
                self.key, sub = jax.random.split(self.key)
                return sub

            def draw(self, count):
                values = [jax.random.normal(self.next()) for _ in range(count)]
                for _ in range(count):
                    self.key, sub = jax.random.split(self.key)
                    values.append(jax.random.uniform(sub))
                return values
        """,
    ),
    Example(
        "each shard folds in where it is",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        def make_dropout(mesh, rate):
            def drop(key, x):
                key = jax.random.fold_in(key, jax.lax.axis_index("data"))
                return x * jax.random.bernoulli(key, 1.0 - rate, x.shape)

            return jax.shard_map(drop, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data"))

        def simulate(key, xs):
            def body(key, x):
                key, sub = jax.random.split(key)
                return key, x + jax.random.normal(sub, x.shape)

            return jax.lax.scan(body, key, xs)
        """,
    ),
)
