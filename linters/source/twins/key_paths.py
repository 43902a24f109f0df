"""What key-reuse must know of paths: conditions that exclude each other, single rounds, calls that renew a key."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "conditions that can both be so",
        """
        import jax

        def noise(key, x, kind, count, cfg):
            if kind == "normal":
                x = x + jax.random.normal(key, x.shape)
            if kind not in ("uniform", "none"):
                x = x + jax.random.uniform(key, x.shape)  # bad
            return x

        def counted(key, x, count):
            if count > 3:
                x = x + jax.random.normal(key, x.shape)
            if count < 5:
                x = x + jax.random.uniform(key, x.shape)  # bad
            return x

        def turned(key, x, train):
            if train:
                x = x + jax.random.normal(key, x.shape)
            train = not train
            if not train:
                x = x + jax.random.uniform(key, x.shape)  # bad
            return x

        def every_tenth(key, steps):
            total = 0.0
            for step in range(steps):
                if step % 10 == 0:
                    total += jax.random.normal(key)  # bad
            return total
        """,
    ),
    Example(
        "nothing that is called renews it",
        """
        import jax

        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.key(seed)
                self.count = 0

            def shape(self):
                return (self.count,)

            def pair(self):
                first = jax.random.normal(self.key)
                described(self)
                return first, jax.random.normal(self.key)  # bad

        def described(sampler):
            return f"{sampler.count} numbers"

        def pair(state):
            first = jax.random.normal(state.key)
            return first, jax.random.normal(state.key)  # bad

        def counted(key):
            count = 0

            def next_count():
                nonlocal count
                count += 1
                return count

            first = jax.random.normal(key, (next_count(),))
            return first, jax.random.normal(key, (next_count(),))  # bad
        """,
    ),
    Example(
        "a value that may be None in either arm, or was bound by another condition",
        """
        import jax

        def drawn(key, n, table):
            x = None
            if n == 0:
                x = jax.random.normal(key)
            if x is not None:
                x = jax.random.uniform(key)  # bad
            return x

        def found(key, n, table):
            x = None
            if n == 0:
                noise = jax.random.normal(key)
                x = table.get(n)
            if x is None:
                x = jax.random.uniform(key)  # bad
            return x, noise

        def another(key, n, m):
            x, y = None, None
            if n == 0:
                y = jax.random.normal(key)
            if m == 0:
                x = 1
            if x is None:
                x = jax.random.uniform(key)  # bad
            return x, y
        """,
    ),
)

GOOD = (
    Example(
        "conditions that belong together",
        """
        import jax

        def noise(key, x, kind):
            if kind == "normal":
                x = x + jax.random.normal(key, x.shape)
            elif kind == "uniform":
                x = x + jax.random.uniform(key, x.shape)
            if kind not in ("normal", "uniform"):
                x = x + jax.random.gumbel(key, x.shape)
            return x

        def modes(key, x, mode):
            if mode == "train":
                x = x + jax.random.normal(key, x.shape)
            if mode == "sample":
                x = x + jax.random.uniform(key, x.shape)
            if mode in ("eval", "test"):
                x = x + jax.random.gumbel(key, x.shape)
            return x

        def counted(key, x, count, limit, scale=None):
            if count > limit:
                return x + jax.random.normal(key, x.shape)
            if count == 0:
                x = x + jax.random.normal(key, x.shape)
            if count > 0 and scale is None:
                x = x + jax.random.uniform(key, x.shape)
            if scale:
                x = x + (jax.random.gumbel(key, x.shape) if count >= 1 else 0.0)
            return x

        def flags(key, x, cfg):
            use = cfg.noise and cfg.train
            x = x + (jax.random.normal(key, x.shape) if use else 0.0)
            if not use:
                x = x + jax.random.uniform(key, x.shape)
            return x
        """,
    ),
    Example(
        "one round of a loop",
        """
        import jax

        def start(key, batches, steps):
            params = None
            for batch in batches:
                if params is None:
                    params = jax.random.normal(key, batch.shape)
                params = params + batch
            return params

        def first(key, batches, names):
            noise = fresh = None
            for step, batch in enumerate(batches):
                if step == 0:
                    noise = jax.random.normal(key, batch.shape)
            for name in ("train", "test"):
                if name == "train":
                    fresh = noise
            return noise, fresh

        def flagged(key, batches):
            first = True
            noise = None
            for batch in batches:
                if first:
                    noise = jax.random.normal(key, batch.shape)
                    first = False
            return noise
        """,
    ),
    Example(
        "a helper, a property or a method moves the key on",
        """
        import jax

        SHARED = jax.random.key(0)

        def advance():
            global SHARED
            SHARED = jax.random.fold_in(SHARED, 1)

        def shared(count):
            first = jax.random.normal(SHARED, (count,))
            advance()
            second = jax.random.normal(SHARED, (count,))
            for _ in range(count):
                second = second + jax.random.uniform(SHARED, (count,))
                advance()
            return first, second

        def pair(key):
            def advance():
                nonlocal key
                key = jax.random.fold_in(key, 1)

            def twice():
                advance()
                advance()

            first = jax.random.normal(key)
            advance()
            second = jax.random.normal(key)
            twice()
            return first, second, jax.random.normal(key)

        class Base:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            @property
            def rng(self):
                self.key, sub = jax.random.split(self.key)
                return sub

        class Sampler(Base):
            @property
            def own(self):
                return self.rng

            def draw(self, count):
                values = [jax.random.normal(self.own) for _ in range(count)]
                return values, jax.random.normal(self.rng), jax.random.normal(self.rng), jax.random.normal(self.own)

            def renewed(self, count):
                first = jax.random.normal(self.key)
                renew(self)
                values = []
                for _ in range(count):
                    values.append(jax.random.normal(self.key))
                    renew(self)
                return first, values

        def renew(sampler):
            sampler.key = jax.random.fold_in(sampler.key, 1)

        def outside(seed):
            sampler = Sampler(seed)
            return jax.random.normal(sampler.rng), jax.random.normal(sampler.rng)
        """,
    ),
    Example(
        "a value that tells which arm was taken",
        """
        import jax

        def drawn(key, n):
            x = None
            if n == 0:
                x = jax.random.normal(key)
            elif n == 1:
                x = jax.random.gumbel(key)
            if x is None:
                x = jax.random.uniform(key)
            return x

        def flagged(key, n):
            done, x = False, 0.0
            if n == 0:
                done = True
                x = jax.random.normal(key)
            if not done:
                x = jax.random.uniform(key)
            return x

        def chosen(key, n):
            x = jax.random.normal(key) if n == 0 else None
            return jax.random.uniform(key) if x is None else x

        def named(key, noise):
            mode, x = "normal" if noise else "none", 0.0
            if mode == "normal":
                x = jax.random.normal(key)
            if not noise:
                x = jax.random.uniform(key)
            return x
        """,
    ),
)
