"""The clock, a random generator of the host or the environment is read while a function is traced.

## What it does
Reports reads of the time, of `random` and `numpy.random`, of `uuid`, `secrets`, `os.urandom`, and numbers out of
`os.environ`, in functions that a transform makes a program of.

## Why is this bad?
The function runs once, when it is traced. What it read then is a constant of the compiled program: every call gets the
same "random" shift, the same clock, the same setting, and nothing says so (https://github.com/jax-ml/jax/issues/1141,
https://github.com/jcmgray/autoray/issues/27).

## Example
    @jax.jit
    def augment(x):
        return x + np.random.uniform(-1.0, 1.0)

## Use instead
    @jax.jit
    def augment(key, x):
        return x + jax.random.uniform(key, minval=-1.0, maxval=1.0)

Host state that the program needs is an argument; what has to be read while it runs goes through
`jax.experimental.io_callback`.

## What stays clean
Host functions and callbacks; a function without arguments that no loop calls (it makes the data of one run); generators
of NumPy with a seed of their own, which give a table that is meant to be constant; settings of the environment that are
only asked for, names and messages; functions that only `grad` or `vmap` run, which read anew in every call;
`jax.random`.

## References
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions
- https://github.com/jax-ml/jax/issues/17319
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..concrete import is_sure, may_be_concrete
from ..facts import FileFacts
from ..records import Call, Function, Record
from ..rule import Example, SourceRule
from ..traced import Traced
from ..values.value import dotted

_CLOCKS = frozenset(
    {
        "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns",
        "time.process_time", "time.process_time_ns", "time.localtime", "time.gmtime", "time.strftime", "time.ctime",
        "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
    }
)  # fmt: skip
_CHANCE = frozenset(
    {
        "uuid.uuid1", "uuid.uuid4", "os.urandom", "secrets.token_bytes", "secrets.token_hex", "secrets.randbelow",
        "secrets.randbits", "secrets.choice",
    }
)  # fmt: skip
_OF_THEIR_OWN = frozenset(
    {
        "seed", "RandomState", "default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "MT19937", "SFC64",
        "Random", "BitGenerator", "setstate", "set_state", "getstate", "get_state",
    }
)  # fmt: skip
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState", "random.Random"})
_DRAWS = frozenset(
    {
        "normal", "uniform", "random", "integers", "randint", "choice", "permutation", "shuffle", "randn", "rand",
        "standard_normal", "exponential", "poisson", "binomial", "gauss", "sample", "random_sample", "randrange",
        "beta", "gamma", "permuted", "multivariate_normal", "bytes", "choices",
    }
)  # fmt: skip
_NUMBERS = frozenset({"builtins.int", "builtins.float"})
_ENVIRONMENT = frozenset({"os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.staged or _runs_once(facts, function, traced):
            continue
        for record, what, kept in _reads(facts, function):
            if may_be_concrete(facts, record):
                continue
            yield facts.finding(
                RULE,
                record.node,
                f"{what} is read once, while tracing: {kept}",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="pass it in as an argument; for chance, pass a key and use jax.random",
                confidence="certain" if is_sure(traced) else "likely",
            )


def _runs_once(facts: FileFacts, function: Function, traced: Traced) -> bool:
    """Whether a compiled function takes nothing, so makes the same in every call, and no loop calls it: a set-up."""
    return traced.direct and not function.parameters and facts.repeated(function) is None


def _reads(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str, str]]:
    # A setting that is asked for picks the program, as flags do; one that is made a number goes into it.
    numbers = {id(arg) for call in function.calls if dotted(call.func) in _NUMBERS for arg in call.args}
    texts = {id(part) for value in function.formats for part in value.args}
    for call in function.calls:
        if id(call.result) in texts:
            continue  # a name or a message, no part of what is computed
        callee = facts.callee(call)
        name = callee.name
        if name is None or callee.wraps or callee.function is not None or call.decorates is not None:
            continue
        if name in _CLOCKS:
            yield call, f"the clock (`{name}`)", "every run of the compiled program sees the same time"
        elif name in _CHANCE or _is_random(name):
            yield call, f"`{name}`", "every run of the compiled program gets the same draw"
        elif name.startswith(".") and _draws(facts, function, call):
            yield (
                call,
                f"the generator (`{facts.text(call.node)}`)",
                "every run of the compiled program gets the same draw",
            )
        elif name in _ENVIRONMENT and id(call.result) in numbers:
            yield call, "the environment", "the compiled program keeps the setting whatever it becomes"
    for item in function.items:
        if item.value.op == "item" and dotted(item.value.args[0]) == "os.environ" and id(item.value) in numbers:
            yield item, "the environment", "the compiled program keeps the setting whatever it becomes"


def _is_random(name: str) -> bool:
    """Whether it draws from a generator that the whole process shares."""
    module, _, last = name.rpartition(".")
    return module in ("random", "numpy.random") and last not in _OF_THEIR_OWN and last[:1].islower()


def _draws(facts: FileFacts, function: Function, call: Call) -> bool:
    """Whether it draws from a generator of NumPy or Python that was made before, or is made here without a seed."""
    if call.func.op != "attr" or call.func.data not in _DRAWS:
        return False
    generator = call.func.args[0]
    if generator.op == "attr":
        kind = facts.type_of(generator.args[0])
        known = kind is not None and kind in facts.program.class_data
        generator = (facts.program.instance_member(kind, generator.data) if known and kind else None) or generator
    elif generator.op == "name":
        generator = facts.program.resolve(generator.data) or generator
    if generator.op != "call" or facts.callee(generator.data).name not in _GENERATORS:
        return False
    made: Call = generator.data
    seeded = bool(made.args or made.keywords)
    return not seeded or not (made.function in function.chain() and facts.traced(made.function) is not None)


BAD = (
    Example(
        "the clock and shared generators",
        """
        import random
        import time
        import jax
        import numpy as np

        @jax.jit
        def augment(x):
            shift = np.random.uniform(-1.0, 1.0)  # bad
            seed = int(time.time())  # bad
            if random.random() < 0.5:  # bad
                x = -x
            return x + shift + jax.random.normal(jax.random.key(seed), x.shape)
        """,
        run="import jax.numpy as jnp\nx = jnp.ones(2)\nassert (augment(x) == augment(x)).all()",
    ),
    Example(
        "a generator made before, kept on the object, or made without a seed",
        """
        import jax
        import numpy as np

        RNG = np.random.default_rng(0)

        class Augment:
            def __init__(self, seed):
                self.rng = np.random.RandomState(seed)
                self.run = jax.jit(self._run)

            def _run(self, x):
                return x + self.rng.normal()  # bad

        @jax.jit
        def shifted(x):
            return x + RNG.uniform(-1.0, 1.0)  # bad

        @jax.jit
        def noisy(x):
            rng = np.random.default_rng()
            return x + rng.standard_normal(x.shape)  # bad
        """,
        run="import jax.numpy as jnp\nx, augment = jnp.ones(2), Augment(0)\n"
        "assert (augment.run(x) == augment.run(x)).all() and (shifted(x) == shifted(x)).all()\n"
        "assert (noisy(x) == noisy(x)).all()",
    ),
    Example(
        "in a helper of another file",
        """
        import jax
        from noise import jitter

        step = jax.jit(lambda x: jitter(x) * 2)
        """,
        files={
            "noise.py": """
            from numpy.random import normal as draw

            def amount():
                return draw(0.0, 0.1)  # bad

            def jitter(x):
                return x + amount()
            """
        },
        run="import jax.numpy as jnp\nx = jnp.ones(2)\nassert (step(x) == step(x)).all()",
    ),
    Example(
        "the environment, dates and identifiers, in the body of a scan",
        """
        import os
        import uuid
        from datetime import datetime
        from functools import partial
        import jax

        def roll(scale, xs):
            def body(carry, x):
                boost = float(os.environ["BOOST"])  # bad
                salt = uuid.uuid4().int % 7  # bad
                return carry + x * boost * scale + salt + datetime.now().year, None  # bad

            return jax.lax.scan(body, 0.0, xs)

        rolled = jax.jit(partial(roll, 2.0))
        """,
        run=(
            "import jax.numpy as jnp\nos.environ['BOOST'] = '2'\nfirst = rolled(jnp.ones(3))[0]\n"
            "os.environ['BOOST'] = '3'\nassert rolled(jnp.ones(3))[0] == first"
        ),
    ),
)

GOOD = (
    Example(
        "host functions beside traced ones",
        """
        import random
        import time
        import jax
        import numpy as np

        apply = jax.jit(lambda p, x: x @ p)

        def batches(data, size):
            order = np.random.permutation(len(data))
            random.shuffle(data)
            for i in range(0, len(data), size):
                yield data[order[i : i + size]]

        def evaluate(params, data):
            start = time.perf_counter()
            out = [apply(params, batch) for batch in batches(data, 2)]
            return out, time.perf_counter() - start
        """,
        run="evaluate(np.ones((2, 2)), np.ones((4, 2)))",
    ),
    Example(
        "a callback",
        """
        import time
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(x):
            def report(value):
                print(time.time(), value)

            jax.debug.callback(report, x.sum())
            now = jax.pure_callback(lambda: jnp.float32(time.time()), jax.ShapeDtypeStruct((), jnp.float32))
            return x + now
        """,
        run="step(jnp.ones(2))",
    ),
    Example(
        "a constant table from a generator with a seed",
        """
        import jax
        import numpy as np

        @jax.jit
        def project(x):
            rng = np.random.default_rng(0)
            basis = rng.standard_normal((x.shape[-1], 4)).astype("float32")
            other = np.random.RandomState(1).randn(4).astype("float32")
            return x @ basis + other
        """,
        run="project(np.ones((2, 3), np.float32))",
    ),
    Example(
        "settings that pick the program, names and messages",
        """
        import os
        import random
        import time
        import jax

        @jax.jit
        def step(x):
            print(f"tracing at {time.time()}")
            with jax.named_scope(f"step_{random.randint(0, 9)}"):
                if os.environ.get("DOUBLE", "0") == "1":
                    x = x * 2
                return x + 1
        """,
        run="step(1.0)",
    ),
    Example(
        "data of one run, made by a function that takes nothing",
        """
        import jax
        import numpy as np

        def make():
            key = jax.random.key(np.random.randint(0, 256))
            return jax.random.normal(key, (2, 3))

        made = jax.jit(make)
        data = made()
        """,
        run="data + 1",
    ),
    Example(
        "grad alone runs the function anew in every call",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        def loss(w, data):
            rows = np.random.randint(0, len(data), 2)
            return jnp.mean((data[rows] @ w) ** 2)

        slope = jax.grad(loss)
        """,
        run="slope(jnp.ones(2), jnp.ones((4, 2)))",
    ),
)

RULE = SourceRule(
    code="JIT110",
    name="trace-time-host-state",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
