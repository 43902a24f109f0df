"""A Python loop over the length of an array is written out into the program, one copy for each element.

## What it does
Reports `for` loops in traced functions that go over an array or over the length of one, or over a large number of
rounds, and carry a traced value from round to round. How often a program repeats itself is exact in its compiled
form: `contract-lint verify` counts equations and repeated blocks; this rule is a guess from the source.

## Why is this bad?
Tracing runs the loop and records every round. A thousand steps make a program a thousand times as long, whose
compilation takes minutes, and again for every other length (https://github.com/jax-ml/jax/issues/352,
https://github.com/jax-ml/jax/issues/2777, https://github.com/jax-ml/jax/issues/3596).

## Example
    @jax.jit
    def rnn(w, xs):
        h = jnp.zeros(w.shape[0])
        for t in range(xs.shape[0]):
            h = jnp.tanh(w @ h + xs[t])
        return h

## Use instead
    @jax.jit
    def rnn(w, xs):
        def step(h, x):
            return jnp.tanh(w @ h + x), None

        h, _ = jax.lax.scan(step, jnp.zeros(w.shape[0]), xs)
        return h

## What stays clean
Loops over layers, fields, leaves and small fixed counts; rounds that do not depend on each other; code on the host.

## References
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#control-flow
- https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import TRACERS, FileFacts
from ..records import Function, Loop
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

MANY = 64
"""Rounds from which a fixed count is worth a compiled loop."""


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.hides:
            continue
        for loop in function.loops:
            if loop.kind != "for" or loop.iterable is None or loop.once:
                continue
            rounds = _rounds(facts, loop.iterable)
            if rounds is None or not _carries(facts, function, loop):
                continue
            yield facts.finding(
                RULE,
                loop.node,
                f"this loop is written out into the program, once for each of {rounds}",
                subject=f"{function.name}: for over {rounds}",
                because=facts.why(function),
                help="use jax.lax.scan or jax.lax.fori_loop; contract-lint verify counts the equations",
            )


def _rounds(facts: FileFacts, value: Value) -> str | None:
    """What a loop runs over, where that is long: an array, the length of one, or a large number."""
    name = dotted(value.data.func) if value.op == "call" else None
    if name in ("builtins.enumerate", "builtins.reversed", "builtins.zip"):
        parts = [_rounds(facts, each) for each in value.data.args]
        return next((part for part in parts if part is not None), None)
    if name == "builtins.range":
        count = value.data.args[-1 if len(value.data.args) < 3 else 1] if value.data.args else None
        number = facts.constant(count)
        if type(number) is int:
            return f"{number} rounds" if number >= MANY else None
        of = _length_of(facts, count) if count is not None else None
        return f"the elements of `{of}`" if of is not None else None
    if facts.kind(value) == "array" and value.op in ("param", "call", "bin", "loop", "phi"):
        return f"the elements of `{facts.text(value.node)}`" if value.node is not None else "the elements of an array"
    return None


def _length_of(facts: FileFacts, value: Value, depth: int = 4) -> str | None:
    """The traced array whose first axis a count is: `x.shape[0]`, `len(x)`, `x.shape[1]`, or one less."""
    if not depth:
        return None
    if value.op == "bin":
        shifted = value.data in ("Add", "Sub") and value.args[1].op == "const"
        return _length_of(facts, value.args[0], depth - 1) if shifted else None
    array = None
    if value.op == "item" and value.args[0].op == "attr" and value.args[0].data == "shape":
        if value.args[1].op == "const" and value.args[1].data in (0, 1):
            array = value.args[0].args[0]
    elif value.op == "call" and dotted(value.data.func) == "builtins.len" and value.data.args:
        array = value.data.args[0]
        if facts.kind(array) != "array" and not (array.op == "call" and facts.is_tracer(array)):
            return None  # of a list, say, of layers
    if array is None or facts.kind(array) not in TRACERS:
        return None
    if array.op == "param":
        return array.data.name
    return facts.text(array.node) if array.node is not None else None


def _carries(facts: FileFacts, function: Function, loop: Loop) -> bool:
    """Whether a round makes a traced value out of the one that the round before made, and reads at the loop's index."""
    for store in function.stores:
        if store.kind != "name" or loop not in store.block.loops():
            continue
        kind = facts.kind(store.value)
        if (
            kind in TRACERS or (kind in ("unknown", "container") and store.value.op in ("call", "bin"))
        ) and _comes_from(store.value, loop):
            return True
    return False


def _comes_from(value: Value, loop: Loop, depth: int = 10) -> bool:
    if value.op == "loop":
        return value.data is loop
    if not depth or value.op in ("const", "name", "param", "updated"):
        return False
    if value.op == "call":
        call = value.data
        func = (call.func.args[0],) if call.func.op == "attr" else ()
        return any(_comes_from(each, loop, depth - 1) for each in (*func, *call.args, *call.keywords.values()))
    return value.op in ("bin", "unary", "item", "attr", "tuple", "list") and any(
        _comes_from(each, loop, depth - 1) for each in value.args
    )


BAD = (
    Example(
        "steps of a recurrence",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def rnn(w, xs):
            h = jnp.zeros(w.shape[0])
            for t in range(xs.shape[0]):  # bad
                h = jnp.tanh(w @ h + xs[t])
            return h
        """,
        run="jaxpr = jax.make_jaxpr(rnn)(jnp.ones((2, 2)), jnp.ones((50, 2)))\nassert str(jaxpr).count('tanh') >= 50",
    ),
    Example(
        "in a helper of another file, over the array itself",
        """
        import jax
        from sums import total

        mean = jax.jit(lambda x: total(x) / x.shape[0])
        """,
        files={
            "sums.py": """
            import jax.numpy as jnp

            def total(x):
                result = jnp.zeros(x.shape[1:])
                for row in jnp.square(x):  # bad
                    result = result + row
                return result
            """
        },
        run="import jax.numpy as jnp\nmean(jnp.ones((3, 2)))",
    ),
    Example(
        "many rounds, through partial",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        STEPS = 1000

        def integrate(rate, x):
            for step in range(STEPS):  # bad
                x = x + rate * jnp.sin(x)
            length = len(jnp.ravel(x))
            for i in range(length - 1):  # bad
                x = x * 0.5 + x[i]
            return x

        solved = jax.jit(partial(integrate, 0.1))
        """,
    ),
)

GOOD = (
    Example(
        "layers, leaves and small counts",
        """
        import jax
        import jax.numpy as jnp
        from flax import nnx

        class Stack(nnx.Module):
            def __init__(self, depth, rngs):
                self.depth = depth
                self.layers = nnx.List([nnx.Linear(4, 4, rngs=rngs) for _ in range(depth)])

            def __call__(self, x):
                for layer in self.layers:
                    x = nnx.relu(layer(x))
                for i in range(self.depth):
                    x = self.layers[i](x)
                return x

        @jax.jit
        def total(params, grads):
            norm = jnp.zeros(())
            for p, g in zip(jax.tree.leaves(params), jax.tree.leaves(grads), strict=True):
                norm = norm + jnp.vdot(p, g)
            for w in params:
                norm = norm + w.sum()
            for _ in range(4):
                norm = norm * 0.5
            for axis in range(len(params[0].shape)):
                norm = norm + axis
            return norm
        """,
        run="total([jnp.ones(2)], [jnp.ones(2)]); Stack(2, nnx.Rngs(0))(jnp.ones((1, 4)))",
    ),
    Example(
        "a compiled loop",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def rnn(w, xs):
            def step(h, x):
                return jnp.tanh(w @ h + x), None

            h, _ = jax.lax.scan(step, jnp.zeros(w.shape[0]), xs)
            return jax.lax.fori_loop(0, 1000, lambda i, h: h * 0.5, h)
        """,
        run="rnn(jnp.ones((2, 2)), jnp.ones((3, 2)))",
    ),
    Example(
        "rounds that do not depend on each other",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def rows(x):
            out = []
            for i in range(x.shape[0]):
                out.append(jnp.sort(x[i]))
            return out
        """,
        run="rows(jnp.ones((2, 2)))",
    ),
    Example(
        "on the host",
        """
        import jax
        import jax.numpy as jnp

        step = jax.jit(lambda x, y: x * 0.5 + y)

        def train(x, ys):
            for i in range(ys.shape[0]):
                x = step(x, ys[i])
            for y in jnp.sin(ys):
                x = x + y
            return x
        """,
        run="train(jnp.ones(2), jnp.ones((3, 2)))",
    ),
)

RULE = SourceRule(
    code="JIT115",
    name="unrolled-loop",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    preview=True,
    skips_tests=True,
)
