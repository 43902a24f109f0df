"""What jit-in-loop must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "a lambda in a while loop",
        """
        import jax
        import jax.numpy as jnp


        def relax(grid):
            return 0.5 * (grid + jnp.roll(grid, 1))


        def solve(grid, rounds):
            done = 0
            while done < rounds:
                grid = jax.jit(lambda g: relax(g))(grid)  # bad
                done += 1
            return grid
        """,
        run="count(lambda n: solve(jnp.ones(3), n))",
    ),
    Example(
        "a partial, through an alias",
        """
        import functools
        import jax

        compiled = jax.jit


        def step(params, batch, scale):
            return params + scale * batch


        def train(params, batches, scale):
            for batch in batches:
                update = compiled(functools.partial(step, scale=scale))  # bad
                params = update(params, batch)
            return params
        """,
        run="count(lambda n: train(1.0, [1.0] * n, 2.0))",
    ),
    Example(
        "a local function, decorated, that closes over the batch",
        """
        import jax


        def train(params, batches):
            for batch in batches:

                @jax.jit  # bad
                def loss(p):
                    return (p - batch) ** 2

                params = params - 0.1 * loss(params)
            return params
        """,
        run="count(lambda n: train(1.0, [1.0] * n))",
    ),
    Example(
        "the gradient of a function of the module, taken in the loop",
        """
        import jax


        def loss(params, batch):
            return (params - batch) ** 2


        def train(params, batches):
            for batch in batches:
                grads = jax.jit(jax.grad(loss))(params, batch)  # bad
                params = params - 0.1 * grads
            return params
        """,
        run="count(lambda n: train(1.0, [1.0] * n))",
    ),
    Example(
        "a bound method",
        """
        import jax


        class Model:
            def predict(self, x):
                return x * 2.0

            def run(self, inputs):
                out = []
                for x in inputs:
                    out.append(jax.jit(self.predict)(x))  # bad
                return out
        """,
        run="count(lambda n: Model().run([1.0] * n))",
    ),
    Example(
        "made by a factory of another file",
        """
        from steps import make_step


        def train(state, batches):
            for batch in batches:
                step = make_step(0.1)  # bad
                state = step(state, batch)
            return state
        """,
        files={
            "steps.py": """
            import jax


            def make_step(rate):
                def step(state, batch):
                    return state - rate * batch

                return jax.jit(step)
            """
        },
        run="count(lambda n: train(1.0, [1.0] * n))",
    ),
    Example(
        "the code of a script",
        """
        import jax
        from data import batches

        params = 1.0
        for step in range(1000):
            params = jax.jit(lambda p: p * 0.5)(params)  # bad
            params = jax.jit(lambda p: p + step)(params)  # bad
        for batch in batches:

            @jax.jit  # bad
            def loss(p):
                return p * 2.0

            params = loss(params)
        """,
        files={"data.py": "batches = iter(())\n"},
    ),
)

GOOD = (
    Example(
        "made when it is first asked for",
        """
        import jax

        _halve = None


        def halve():
            global _halve
            if _halve is None:
                _halve = jax.jit(lambda x: 0.5 * x)
            return _halve


        class Model:
            def __init__(self):
                self.step = None

            def kept(self):
                if self.step is None:
                    self.step = jax.jit(lambda x: x + 1)
                return self.step

            def found(self):
                if not hasattr(self, "_found"):
                    self._found = jax.jit(lambda x: x * 2)
                return self._found

            def asked(self):
                made = getattr(self, "_asked", None)
                if made is None:
                    made = self._asked = jax.jit(lambda x: x * 3)
                return made

            def tried(self):
                try:
                    return self._tried
                except AttributeError:
                    self._tried = jax.jit(lambda x: x * 4)
                return self._tried

            def run(self, xs):
                for x in xs:
                    x = halve()(self.kept()(self.found()(self.asked()(x))))
                return [self.tried()(x) for x in xs]
        """,
        run="count(lambda n: Model().run([1.0] * n))",
    ),
    Example(
        "compiled before the loop",
        """
        import functools
        import jax


        def step(params, batch, scale):
            return params + scale * batch


        def train(params, batches, scale):
            update = jax.jit(functools.partial(step, scale=scale))
            for batch in batches:
                params = update(params, batch)
            return params
        """,
        run="count(lambda n: train(1.0, [1.0] * n, 2.0))",
    ),
    Example(
        "a function that lives longer than the loop",
        """
        import jax


        def double(x):
            return 2.0 * x


        def run(inputs):
            def triple(x):
                return 3.0 * x

            out = []
            for x in inputs:
                out.append(jax.jit(double)(x) + jax.jit(triple)(x))
            return out
        """,
        run="count(lambda n: run([1.0] * n))",
    ),
    Example(
        "variants, each made once and kept, or called in an inner loop",
        """
        import functools
        import jax


        def scaled(x, factor):
            return x * factor


        def sweep(factors, batches):
            compiled = {}
            for factor in factors:
                if factor not in compiled:
                    compiled[factor] = jax.jit(functools.partial(scaled, factor=factor))
            total = 0.0
            for factor in factors:
                run = jax.jit(functools.partial(scaled, factor=factor))
                for batch in batches:
                    total += run(batch)
            for power in (1, 2, 3):
                total += jax.jit(lambda x: x**power)(total)
            return total, compiled, [jax.jit(functools.partial(scaled, factor=each)) for each in factors]
        """,
    ),
    Example(
        "the code of a script that compiles once",
        """
        import jax


        def double(x):
            return 2.0 * x


        halve = jax.jit(lambda x: 0.5 * x)
        x = 1.0
        for step in range(1000):
            x = halve(jax.jit(double)(x))
        for power in (1, 2, 3):
            x = jax.jit(lambda x: x**power)(x)
        for epoch in range(100):
            scaled = jax.jit(lambda x: x * epoch)
            for step in range(1000):
                x = scaled(x)
        """,
    ),
    Example(
        "a layout for each part of a model",
        """
        import jax


        def stack(parts, shardings):
            for name, parts_of_layer in parts.items():

                def stacked(*layers):
                    return jax.numpy.stack(layers)

                parts[name] = jax.jit(stacked, out_shardings=shardings[name])(*parts_of_layer)
            return parts
        """,
    ),
    Example(
        "inside traced code",
        """
        import jax


        @jax.jit
        def forward(x):
            for _ in range(8):
                x = jax.jit(lambda v: v * 2.0)(x)
            return x
        """,
    ),
    Example(
        "tried until it works",
        """
        import jax


        def build_first_that_compiles(candidates, x):
            for candidate in candidates:
                try:
                    return jax.jit(lambda v: candidate(v))(x)
                except TypeError:
                    continue
            return None
        """,
    ),
    Example(
        "other jits",
        """
        import numba
        import torch


        def run(inputs, model):
            out = []
            for x in inputs:
                out.append(numba.jit(lambda v: v + 1)(x))
                out.append(torch.jit.trace(lambda v: model(v), x)(x))
            return out
        """,
    ),
)
