"""What leaked-tracer must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "a list and a dictionary of the module",
        """
        import jax
        import jax.numpy as jnp

        activations = []
        last = {}

        @jax.jit
        def layer(x, w):
            h = jnp.tanh(x @ w)
            activations.append(h)  # bad
            last["h"] = h  # bad
            return h
        """,
        raises="UnexpectedTracerError",
        run="layer(jnp.ones((2, 2)), jnp.ones((2, 2))); activations[0] + 1",
    ),
    Example(
        "in a helper of another file",
        """
        import jax
        from record import note

        @jax.jit
        def step(x):
            return note(x * 2)
        """,
        files={
            "record.py": """
            import jax.numpy as jnp

            seen = {"norms": []}

            def note(x):
                seen["norms"].append(jnp.linalg.norm(x))  # bad
                return x
            """
        },
        raises="UnexpectedTracerError",
        run="import jax.numpy as jnp, record\nstep(jnp.ones(2)); record.seen['norms'][0] + 1",
    ),
    Example(
        "a global, and a name of the function round it",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        best = None

        def update(scale, x):
            global best
            best = jnp.max(x) * scale  # bad
            return x - best

        stepped = jax.jit(partial(update, 2.0))

        def make(seen):
            @jax.jit
            def note(x):
                seen.append(x * 2)  # bad
                return x

            return note

        def train(xs):
            total = 0.0

            def body(carry, x):
                nonlocal total
                total = total + jnp.sum(x)  # bad
                return carry, x

            jax.lax.scan(body, 0.0, xs)
            return total
        """,
        raises="UnexpectedTracerError",
        run="train(jnp.ones((3, 2))) + 1",
    ),
    Example(
        "self of a class whose method is jitted",
        """
        import jax
        import jax.numpy as jnp

        class Trainer:
            def __init__(self, rate):
                self.rate = rate
                self.loss = None
                self.history = []
                self.step = jax.jit(self._step)

            def _step(self, params, batch):
                loss = jnp.mean((batch @ params) ** 2)
                self.loss = loss  # bad
                self.history.append(loss)  # bad
                return params - self.rate * loss
        """,
        raises="UnexpectedTracerError",
        run="t = Trainer(0.1); t.step(jnp.ones(2), jnp.ones((2, 2))); t.loss + 1",
    ),
    Example(
        "the body of a loop inside a traced function",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def simulate(xs):
            trace = []

            def body(carry, x):
                carry = carry + jnp.sin(x)
                trace.append(carry)  # bad
                return carry, None

            total, _ = jax.lax.scan(body, 0.0, xs)
            return total, trace[0] * 2
        """,
        raises="UnexpectedTracerError",
        run="simulate(jnp.ones(3))",
    ),
    Example(
        "a list that is added to, an attribute set by its name, a default, a class, the globals",
        """
        import jax
        import jax.numpy as jnp

        class Norms:
            seen = {}

            def __init__(self):
                self.history = []
                self.step = jax.jit(self._step)

            def _step(self, x):
                self.history += [x * 2]  # bad
                setattr(self, "last", x * 2)  # bad
                Norms.seen["mean"] = x.mean()  # bad
                globals()["total"] = x.sum()  # bad
                return x

        @jax.jit
        def collect(x, out=[]):
            out.append(jnp.max(x))  # bad
            return x
        """,
        raises="UnexpectedTracerError",
        run="norms = Norms(); norms.step(jnp.ones(2)); norms.last + 1",
    ),
)

GOOD = (
    Example(
        "lists that are added to, arguments with defaults, in the trace",
        """
        import jax
        import jax.numpy as jnp

        class Names:
            known = {}

        def extended(x, parts=()):
            parts = [*parts]
            parts += [x * 2]
            return parts

        def filled(x, out):
            out.append(x)
            return out

        @jax.jit
        def step(x, out=None):
            Names.known["rank"] = x.ndim
            setattr(Names, "size", x.size)
            out = [] if out is None else out
            out.append(x)
            return extended(jnp.tanh(x)), filled(x * 2, []), out
        """,
        run="step(jnp.ones(2)), step(jnp.ones(2), [jnp.ones(2)])",
    ),
    Example(
        "containers of the trace",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def forward(params, x):
            hidden, aux = [], {"norm": 0.0}

            def keep(h):
                hidden.append(jnp.sum(h))
                return h

            for w in params:
                x = keep(jnp.tanh(x @ w))
                hidden.append(x)
                aux["norm"] += jnp.vdot(x, x)
            aux.update(last=x)
            return hidden, aux

        class Buffer:
            def insert(self, state, x):
                return state + x.sum()

        buffer = Buffer()

        @jax.jit
        def collect(state, x):
            state = buffer.insert(state, x * 2)
            return state

        def make(steps):
            def schedule(count):
                nonlocal steps
                steps, count = jax.tree.map(lambda v: float(v) if isinstance(v, int) else v, (steps, count))
                return jnp.minimum(count, steps)

            return jax.jit(schedule)

        def accumulate(xs):
            def body(carry, x):
                carry["total"] = carry["total"] + x.sum()
                return carry, None

            return jax.lax.scan(body, {"total": 0.0}, xs)
        """,
        run=(
            "forward([jnp.ones((2, 2))], jnp.ones((1, 2))); accumulate(jnp.ones((3, 2)))\n"
            "collect(0.0, jnp.ones(2)); make(3)(jnp.ones(()))"
        ),
    ),
    Example(
        "static values, and callbacks",
        """
        import jax
        import jax.numpy as jnp

        shapes = []
        seen = []

        @jax.jit
        def step(x):
            shapes.append(x.shape)

            def keep(value):
                seen.append(jnp.asarray(value))

            jax.debug.callback(keep, x.sum())
            return x + len(shapes)
        """,
        run="step(jnp.ones(2)); jax.effects_barrier(); seen[0] + 1",
    ),
    Example(
        "modules, and objects made in the trace",
        """
        import jax
        import jax.numpy as jnp
        from flax import nnx

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0))
                self.last = nnx.data(jnp.zeros(()))

            def __call__(self, x):
                self.count[...] = self.count[...] + 1
                self.last = x.sum()
                return x * 2

        class Tape:
            def __init__(self, start):
                self.total = start

            def add(self, x):
                self.total = self.total + jnp.sum(x)

        @nnx.jit
        def step(counter, x):
            tape = Tape(jnp.zeros(()))
            tape.add(counter(x))
            return tape.total
        """,
        run="step(Counter(), jnp.ones(2))",
    ),
    Example(
        "on the host",
        """
        import jax
        import jax.numpy as jnp

        history = []
        norm = jax.jit(lambda x: jnp.sqrt(jnp.sum(x * x)))

        class Log:
            def write(self, x):
                self.last = norm(x)
                history.append(self.last)

        def train(xs):
            log = Log()
            for x in xs:
                log.write(x)
            return log.last + 1
        """,
        run="train(jnp.ones((2, 3)))",
    ),
)
