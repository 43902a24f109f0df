"""A function is compiled anew on every call of the function round it.

## What it does
Finds functions that make a lambda, local function, partial, bound method or transformed function, compile it, call it
and forget it. It is certain where a loop of the program comes to call the outer function, and likely elsewhere, unless
the outer function is set-up code that runs once.

## Why is this bad?
JAX keeps compiled programs by the identity of the function, and this one is new on every call: each traces and
compiles again. Measured in public code: 141 us became 272 ms (https://github.com/jax-ml/jax/issues/2251), and moving
one such jit out made a library 400 times faster (https://github.com/GalacticDynamics/unxt/pull/906).

## Example
    def simulate(population, horizon):
        @partial(jax.jit, static_argnames="length")
        def rollout(start, length):
            return jax.lax.scan(advance, start, None, length=length)
        return rollout(population, length=horizon)

## Use instead
    @partial(jax.jit, static_argnames="length")
    def rollout(start, length):
        return jax.lax.scan(advance, start, None, length=length)

    def simulate(population, horizon):
        return rollout(population, length=horizon)

Where it depends on something of the outer function, pass that as an argument, or keep what was compiled.

## What stays clean
Factories that return the compiled function, those kept on an object or in a cache, ones that are called in a loop of
the same function, set-up code (`main`, `init_*`, `build_*`, `jax.jit(create, out_shardings=...)(key)` run once),
compiled functions of the module, tests, and traced code (of what tests alone trace, the users may call it as it is).

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
- https://github.com/jax-ml/jax/issues/2251
- https://github.com/jax-ml/jax/issues/1421
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..rebuilt import Rebuilt, comes_again, fills_a_cache, rebuilt, runs_once
from ..records import Function
from ..rule import Example, SourceRule

_PLACED = frozenset({"out_shardings", "in_shardings", "device", "backend", "out_axis_resources", "in_axis_resources"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for each in rebuilt(facts):
        function = each.function
        block = each.call.block
        if (
            function.is_module
            or each.escapes
            or not each.uses
            or comes_again(block) is not None
            or _remembered(function)
        ):
            continue
        if fills_a_cache(block) or any(use.block.loop is not block.loop for use in each.uses):
            continue
        place = facts.repeated(function)
        if place is not None and facts.traced(function) is None:
            yield _finding(facts, each, f"a loop comes to call it at {place}", "certain")
        elif _is_worth_keeping(facts, each):
            how = "with what it needs as arguments" if each.captured else "as it needs nothing of it"
            yield _finding(facts, each, f"it could be made once, {how}", "likely")


def _remembered(function: Function) -> bool:
    return any("cache" in str(getattr(each, "data", "")) for each in function.decorators)


def _is_worth_keeping(facts: FileFacts, each: Rebuilt) -> bool:
    """Whether the outer function may well be called again: it is no set-up code, and no function inside another one."""
    function = each.function
    inside = function.parent is not None and not function.parent.is_module and function.owner is None
    return not inside and not _PLACED & each.options.keys() and not runs_once(facts, function)


def _finding(facts: FileFacts, each: Rebuilt, why: str, confidence: str) -> Finding:
    name = "the lambda" if each.function.name.startswith("<") else each.function.name
    return facts.finding(
        RULE,
        each.call.node,
        f"{each.what} is compiled again on every call of {name}; {why}",
        subject=f"{each.function.name}: {facts.text(each.call.node)}",
        help="compile it once: at the module's level, before the loop, or kept where the next call finds it",
        confidence=confidence,
    )


BAD = (
    Example(
        "a local function, compiled for one call",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp


        def grow(population, years):
            @partial(jax.jit, static_argnames=("length",))  # bad
            def run(start, length):
                return jax.lax.scan(lambda c, _: (c * 1.01, c), start, None, length=length)

            return run(population, length=years)


        def sweep(populations, years):
            return [grow(each, years) for each in populations]
        """,
        run="count(lambda n: sweep([jnp.float32(1.0)] * n, 3))",
    ),
    Example(
        "a partial of a library function on every request",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp


        def next_token(logits):
            return jax.jit(partial(jnp.argmax, axis=-1))(logits)  # bad
        """,
        run="count(lambda n: [next_token(jnp.ones(3)) for _ in range(n)])",
    ),
    Example(
        "a function of a library that a test takes the gradient of",
        """
        import functools
        import jax
        import jax.numpy as jnp

        def penalty(scale, divergence, per_dimension=True):
            loss = scale * divergence
            if per_dimension:
                loss = jax.jit(functools.partial(jnp.sum, axis=-1))(loss)  # bad
            return loss
        """,
        files={
            "test_penalty.py": """
            import jax
            import jax.numpy as jnp
            from example import penalty

            def test_gradient():
                assert jax.grad(lambda scale: penalty(scale, jnp.ones(2)))(2.0) == 2.0
            """
        },
        run="count(lambda n: [penalty(jnp.ones(()), jnp.ones(3)) for _ in range(n)])",
    ),
    Example(
        "through a helper that a loop calls, in a method",
        """
        import jax


        class Sampler:
            def energy(self, x):
                return (x**2).sum()

            def move(self, x):
                slope = jax.jit(jax.grad(self.energy))  # bad
                return x - 0.1 * slope(x)

            def two_moves(self, x):
                return self.move(self.move(x))

            def sample(self, x, count):
                for _ in range(count):
                    x = self.two_moves(x)
                return x
        """,
        run="import jax.numpy as jnp\ncount(lambda n: Sampler().sample(jnp.ones(2), n))",
    ),
    Example(
        "called from a loop in another file, through an alias",
        """
        import jax as j

        compile = j.jit


        def smooth(x, width):
            window = compile(lambda v: v / width)  # bad
            return window(x)
        """,
        files={
            "main.py": """
            from example import smooth


            def main(stream):
                for x in stream:
                    print(smooth(x, 3.0))
            """
        },
        run="count(lambda n: [smooth(1.0, 3.0) for _ in range(n)])",
    ),
)

GOOD = (
    Example(
        "a barrier at the end of a run",
        """
        import jax
        import jax.numpy as jnp

        def train(state, batches, step):
            for batch in batches:
                state = step(state, batch)
            _sync()
            return state

        def _sync():
            def add(x):
                return jax.lax.psum(x, "i")

            x = jnp.ones(jax.local_device_count())
            return jax.pmap(add, "i")(x).block_until_ready()
        """,
    ),
    Example(
        "factories, caches, and a compiled function kept on self",
        """
        import functools
        import jax


        def make_step(scale):
            @jax.jit
            def step(x):
                return x * scale

            return step


        @functools.lru_cache
        def table(width):
            return jax.jit(lambda x: x[:width])(jax.numpy.arange(100))


        class Trainer:
            def __init__(self):
                self._step = None

            def step(self, x):
                if self._step is None:
                    self._step = jax.jit(lambda v: v * 2.0)
                return self._step(x)


        def run(stream):
            trainer = Trainer()
            step = make_step(3.0)
            return [trainer.step(step(x)) + table(3) for x in stream]
        """,
    ),
    Example(
        "compiled once, then called in a loop",
        """
        import functools
        import jax


        def update(x, scale):
            return x * scale


        def run(x, scale, rounds):
            step = jax.jit(functools.partial(update, scale=scale))
            for _ in range(rounds):
                x = step(x)
            return x
        """,
        run="count(lambda n: run(1.0, 2.0, n))",
    ),
    Example(
        "set-up that runs once",
        """
        import functools
        import jax


        def init_state(model, key, shardings):
            return jax.jit(functools.partial(model.init, train=True), out_shardings=shardings)(key)


        def shard(params, shardings):
            return jax.jit(lambda p: p, out_shardings=shardings)(params)


        def main(model, key, shardings):
            state = init_state(model, key, shardings)
            print(jax.jit(lambda s: s)(state))
            return shard(state, shardings)


        if __name__ == "__main__":
            main(None, None, None)
        """,
    ),
    Example(
        "a function that lives longer",
        """
        import jax


        def double(x):
            return 2.0 * x


        def apply(x):
            return jax.jit(double)(x)


        def run(stream):
            return [apply(x) for x in stream]
        """,
        run="count(lambda n: run([1.0] * n))",
    ),
    Example(
        "inside traced code, and lowered only to be looked at",
        """
        import jax


        @jax.jit
        def forward(x):
            inner = jax.jit(lambda v: v * 2.0)
            return inner(x)


        def cost(x):
            return jax.jit(lambda v: v * 2.0).lower(x).compile().cost_analysis()


        def run(stream):
            return [forward(x) for x in stream]
        """,
    ),
)

RULE = SourceRule(
    code="JIT102",
    name="jit-rebuilt-per-call",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
