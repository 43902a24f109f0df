"""A static argument changes with every call, and every new value compiles the function again.

## What it does
Finds calls of a function with static arguments that give one of them a counter of the loop round the call, something
computed from it, the time or a random number; and calls, in a loop or in a function that a loop calls, that give one
a function made on the spot (a lambda, a partial, a local function).

## Why is this bad?
A compiled program is kept for each value of the static arguments. A step number among them compiles a training step
on every step (https://github.com/jax-ml/jax/issues/2813), and a fresh lambda is a new value each time, equal to none
before. Nothing fails: the program is only slow, and its cache grows.

## Example
    @partial(jax.jit, static_argnames="step")
    def train_step(state, batch, step):
        return update(state, batch, rate=0.1 * 0.99**step)

    for step, batch in enumerate(batches):
        state = train_step(state, batch, step)

## Use instead
    @jax.jit
    def train_step(state, batch, step):
        return update(state, batch, rate=0.1 * 0.99**step)

A function that is passed in should be one that lives as long as the compiled one: of a module, or made before the
loop.

## What stays clean
Values that take few states: comparisons, `step % 10`, `min(step, 3)`, loops over literals and over a few constants,
counted by `for` or `while`; calls inside traced code, which are compiled with it; elements of collections that the
code does not show.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static
- https://github.com/jax-ml/jax/issues/2813
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import static_arguments
from ..keys import same
from ..rebuilt import few_counted, few_rounds, fresh
from ..records import Call, Loop
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_CLOCKS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "datetime.datetime.now", "uuid.uuid4",
    "random.random", "random.randint", "random.uniform", "random.randrange", "numpy.random.rand",
    "numpy.random.randint", "numpy.random.uniform", "numpy.random.normal", "numpy.random.random",
})  # fmt: skip
_GROWS = frozenset({"Add", "Sub", "Mult", "Pow", "Div"})
_KEEPS = frozenset({"builtins.int", "builtins.float", "builtins.str", "math.sqrt", "math.exp", "math.log", "math.cos"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        for call in function.calls:
            if call.decorates is not None:
                continue
            for name, value in static_arguments(facts, call):
                found = _varies(facts, call, value)
                if found is not None:
                    yield _finding(facts, call, name, *found)


def _varies(facts: FileFacts, call: Call, value: Value) -> tuple[str, bool] | None:
    """Why a value is another one in each call, and whether that is sure."""
    loops = [loop for loop in call.block.loops() if not loop.once]
    for loop in loops:
        counted = _counts(facts, value, loop)
        if counted is not None:
            return f"{counted}, which is new in every round", _known_long(loop)
    made = fresh(facts, value, call.function)
    if made is None:
        clock = dotted(value.data.func) if value.op == "call" else None
        repeated = loops or facts.repeated(call.function)
        return (f"{clock}(), which is new every time", True) if clock in _CLOCKS and repeated else None
    block = made.block
    inside = block is not None and any(loop in list(block.loops()) for loop in loops)
    if inside:
        return f"{made.what}, which is new in every round", True
    if loops:
        return None
    place = facts.repeated(call.function)
    # Without such a loop, a function of a library is as likely to be called by code that compiles it as a whole.
    return (f"{made.what}, which is new in every call (called in a loop at {place})", True) if place else None


def _counts(facts: FileFacts, value: Value, loop: Loop, depth: int = 0) -> str | None:
    """What counts the rounds of a loop in this value."""
    if depth > 6:
        return None
    value = same(value)
    if value.op == "element" and value.data is loop:
        return _counter(facts, loop, value)
    if value.op == "item" and value.args[0].op == "element" and value.args[0].data is loop:
        return None
    if value.op == "loop" and value.data is loop and not few_counted(facts, loop):
        after = value.args[1]
        if after.op == "bin" and after.data in ("Add", "Sub") and value in after.args:
            other = after.args[1] if after.args[0] is value else after.args[0]
            if other.op == "const":
                return "a counter of the loop"
        return None
    if value.op == "bin" and value.data in _GROWS:
        return next((found for each in value.args if (found := _counts(facts, each, loop, depth + 1))), None)
    if value.op in ("format", "tuple"):
        return next((found for each in value.args if (found := _counts(facts, each, loop, depth + 1))), None)
    if value.op == "call" and dotted(value.data.func) in _KEEPS and len(value.data.args) == 1:
        return _counts(facts, value.data.args[0], loop, depth + 1)
    return None


def _counter(facts: FileFacts, loop: Loop, element: Value) -> str | None:
    """What the element is, where it is a number of the loop: of `range`, `enumerate` or `count`."""
    iterable = loop.iterable
    if iterable is None or iterable.op != "call":
        return None
    name = dotted(iterable.data.func)
    while name in ("tqdm.tqdm", "builtins.reversed", "tqdm.auto.tqdm", "builtins.iter", "builtins.list"):
        if not iterable.data.args or iterable.data.args[0].op != "call":
            return None
        iterable = iterable.data.args[0]
        name = dotted(iterable.data.func)
    if name == "builtins.enumerate" and element.args[0].op == "unknown":
        source = iterable.data.args[0] if iterable.data.args else None
        return None if source is not None and few_rounds(facts, source) else "the counter of the loop"
    if name in ("builtins.range", "tqdm.trange", "tqdm.auto.trange"):
        return None if few_rounds(facts, iterable) else "the counter of the loop"
    return "the counter of the loop" if name == "itertools.count" else None


def _known_long(loop: Loop) -> bool:
    return loop.iterable is not None


def _finding(facts: FileFacts, call: Call, name: str, what: str, sure: bool) -> Finding:
    callee = facts.callee(call)
    shown = callee.function.name if callee.function is not None else facts.text(call.node.func)  # type: ignore[attr-defined]
    shown = "the function" if shown.startswith("<") else shown
    which = f"argument {name}" if name.isdigit() else f"`{name}`"
    function = "made" in what or "lambda" in what
    return facts.finding(
        RULE,
        call.node,
        f"{which} of {shown} is static and gets {what}: {shown} is compiled again for each",
        subject=f"{call.function.name}: {shown} {name}",
        help="make it once, outside" if function else "pass it as a traced argument",
        confidence="certain" if sure else "likely",
    )


BAD = (
    Example(
        "the step number",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("step",))
        def train_step(state, batch, step):
            return state + batch * 0.99**step


        def train(state, batches):
            for step, batch in enumerate(batches):
                state = train_step(state, batch, step)  # bad
            return state
        """,
        run="count(lambda n: train(1.0, [1.0] * n))",
    ),
    Example(
        "a rate computed from the counter, through an alias",
        """
        import jax


        def _update(params, grads, rate):
            return params - rate * grads


        update = jax.jit(_update, static_argnums=2)


        def fit(params, grads, steps):
            apply = update
            for step in range(steps):
                rate = 0.1 * 0.99**step
                params = apply(params, grads, rate)  # bad
            return params


        def named(params, grads, steps):
            tagged = jax.jit(lambda params, grads, tag: params - grads, static_argnames="tag")
            for step in range(steps):
                params = tagged(params, grads, tag=f"step {step}")  # bad
                params = tagged(params, grads, tag=("step", step))  # bad
            return params
        """,
        run="count(lambda n: fit(1.0, 1.0, n))",
    ),
    Example(
        "a counter of a while loop, in a method",
        """
        import functools
        import jax


        class Decoder:
            @functools.partial(jax.jit, static_argnums=(0, 3))
            def decode(self, params, token, position):
                return token + params * position

            def generate(self, params, token, stop):
                position = 0
                while position < stop:
                    token = self.decode(params, token, position)  # bad
                    position += 1
                return token
        """,
        run="count(lambda n: Decoder().generate(1.0, 1.0, n))",
    ),
    Example(
        "a lambda, made in the loop",
        """
        import jax
        from solvers import solve


        def sweep(points, scale):
            found = []
            for point in points:
                found.append(solve(lambda x: x * scale, point))  # bad
            return found
        """,
        files={
            "solvers.py": """
            from functools import partial
            import jax


            @partial(jax.jit, static_argnums=0)
            def solve(function, start):
                return start - function(start)
            """
        },
        run="count(lambda n: sweep([1.0] * n, 2.0))",
    ),
    Example(
        "a partial, made in a function that a loop calls",
        """
        import functools
        import jax


        def residual(x, scale):
            return x * scale


        @functools.partial(jax.jit, static_argnames="function")
        def step(x, function):
            return x - function(x)


        def advance(x, scale):
            bound = functools.partial(residual, scale=scale)
            return step(x, function=bound)  # bad


        def run(x, scales):
            for scale in scales:
                x = advance(x, scale)
            return x
        """,
        run="count(lambda n: run(1.0, [1.0] * n))",
    ),
)

GOOD = (
    Example(
        "a library function that may be compiled as a whole",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp


        @partial(jax.jit, static_argnums=1)
        def masked(mask, function, x):
            return jnp.where(mask, function(jnp.where(mask, x, 0.0)), 0.0)


        def energy(x):
            return masked(x > 0, lambda v: v**2, x).sum()
        """,
    ),
    Example(
        "few values",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("log", "phase", "mode"))
        def train_step(state, batch, log=False, phase=0, mode="train"):
            return state + batch * (phase + 1) if log else state


        def train(state, batches):
            for step, batch in enumerate(batches):
                state = train_step(state, batch, log=step % 10 == 0, phase=min(step, 3))
                state = train_step(state, batch, phase=step % 4)
                state = train_step(state, batch, mode=f"phase {step % 4}")
            for mode in ("train", "eval"):
                state = train_step(state, 1.0, mode=mode)
            for phase in range(3):
                state = train_step(state, 1.0, phase=phase)
            phase = 3
            while phase > 0:
                state = train_step(state, 1.0, phase=phase)
                phase -= 1
            return state
        """,
    ),
    Example(
        "traced counters, functions of the module",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp


        @jax.jit
        def train_step(state, step):
            return state * 0.9**step


        @partial(jax.jit, static_argnames=("function", "width"))
        def apply(x, function, width):
            return function(x)[:width]


        def train(state, widths, batches):
            activation = jax.nn.relu
            for step, batch in enumerate(batches):
                state = train_step(state, step)
                state = apply(state, jnp.tanh, width=state.shape[0])
                state = apply(state, activation, width=state.shape[0])
            return state
        """,
        run="import jax.numpy as jnp\ncount(lambda n: train(jnp.ones(3), [], [1.0] * n))",
    ),
    Example(
        "inside traced code it is compiled with the rest",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("layer", "activation"))
        def block(x, layer, activation):
            return activation(x) + layer


        @jax.jit
        def forward(x):
            for layer in range(24):
                x = block(x, layer, lambda v: v * 2.0)
            return x
        """,
    ),
    Example(
        "a function made once",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames="loss")
        def step(params, batch, loss):
            return params - jax.grad(loss)(params, batch)


        def train(params, batches, scale):
            loss = lambda p, b: ((p - b) ** 2).sum() * scale
            for batch in batches:
                params = step(params, batch, loss)
            return params


        def main(batches):
            return train(0.0, batches, 2.0)
        """,
        run="count(lambda n: main([1.0] * n))",
    ),
)

RULE = SourceRule(
    code="JIT107",
    name="varying-static-arg",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
