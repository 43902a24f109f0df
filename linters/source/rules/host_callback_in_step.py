"""A compiled function talks to the host in every run.

## What it does
Reports `jax.debug.print`, `jax.debug.breakpoint` and callbacks that print, where they stand without a condition in a
traced function, and `jax.debug.callback`, `jax.pure_callback` and `io_callback` in the body of a compiled loop.

## Why is this bad?
Every run copies the values to the host and waits its turn there; on several devices each one calls. A print that was
left in costs more than the step, and hinders the compiler round it (https://github.com/jax-ml/jax/issues/25842). A
callback in the body of a loop waits once in every round. What is compiled in can be counted: `contract-lint verify`
lists the callbacks of a step.

## Example
    @jax.jit
    def step(params, batch):
        loss = jnp.mean((batch @ params) ** 2)
        jax.debug.print("loss {}", loss)
        return params - loss, loss

## Use instead
    @partial(jax.jit, static_argnames="verbose")
    def step(params, batch, verbose=False):
        loss = jnp.mean((batch @ params) ** 2)
        if verbose:
            jax.debug.print("loss {}", loss)
        return params - loss, loss

Or return the value and print it on the host, every so many steps.

## What stays clean
Calls behind a condition of Python, a branch of `jax.lax.cond` (it calls only when taken), functions whose own name says
that they print, report or check, one callback per run, host code, tests.

## References
- https://docs.jax.dev/en/latest/external-callbacks.html
- https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..concrete import is_conditional
from ..facts import FileFacts
from ..pattern import Pattern
from ..records import Block, Call, Function
from ..rule import Example, SourceRule
from ..traced import Traced

_DEBUG = frozenset({"jax.debug.print", "jax.debug.breakpoint"})
_CALLBACKS = frozenset(
    {
        "jax.debug.callback",
        "jax.pure_callback",
        "jax.experimental.io_callback",
        "jax.experimental.pure_callback",
        "jax.experimental.host_callback.call",
        "jax.experimental.host_callback.id_tap",
    }
)
_LOOPS = Pattern(r"\b(scan|fori_loop|while_loop|lax\.map)\(")
_BRANCHES = Pattern(r"\b(cond|switch)\(")
_MEANT = Pattern(
    r"(?i)print|debug|report|callback|check|assert|warn|progress|trace|dump|inspect|breakpoint|tap|logging|logger"
    r"|(^|_)logs?$|^_?log_(metric|value|stat|info|loss|step|grad|event|message|scalar)"
)


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.staged:
            continue
        for call in function.calls:
            name = facts.callee(call).name
            if name not in _DEBUG and name not in _CALLBACKS:
                continue
            if name in _CALLBACKS and not (_in_loop(traced) or _prints(facts, call)):
                continue
            if _has_condition(call.block) or _is_meant(function) or any(_BRANCHES.search(w.text) for w in traced.chain):
                continue
            where = "in every round of a compiled loop" if _in_loop(traced) else "in every run of the program"
            yield facts.finding(
                RULE,
                call.node,
                f"{name} calls the host {where}",
                subject=f"{function.name}: {name}",
                because=facts.why(function),
                help="put it behind a static flag, return the value, or count the callbacks with contract-lint verify",
            )


def _prints(facts: FileFacts, call: Call) -> bool:
    """Whether a callback does no more than print or log."""
    given = call.argument(0, "callback")
    name = facts.callee(given).name if given is not None else None
    return name is not None and name.startswith(("builtins.print", "pprint.", "logging.", "absl.logging."))


def _in_loop(traced: Traced) -> bool:
    return any(_LOOPS.search(each.text) for each in traced.chain)


def _has_condition(block: Block) -> bool:
    """Whether something decides if the call is made: a condition, other than a check that raises, or an exception."""
    return is_conditional(block) or any(each.arm.startswith(("except", "case")) for each in block.chain())


def _is_meant(function: Function) -> bool:
    return any(_MEANT.search(each.name) is not None for each in function.chain() if not each.is_module)


BAD = (
    Example(
        "a print that was left in",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(params, batch):
            if batch.ndim != 2:
                raise ValueError(f"bad shape {batch.shape}")
            loss = jnp.mean((batch @ params) ** 2)
            jax.debug.print("loss {}", loss)  # bad
            jax.debug.callback(print, loss)  # bad
            return params - loss
        """,
        run="assert str(jax.make_jaxpr(step)(jnp.ones(2), jnp.ones((2, 2)))).count('debug') >= 2",
    ),
    Example(
        "in a helper of another file, under an alias",
        """
        import jax
        from layers import dense

        forward = jax.jit(lambda w, x: dense(w, x) * 2)
        """,
        files={
            "layers.py": """
            from jax import debug as jdebug
            import jax.numpy as jnp

            def dense(w, x):
                y = jnp.tanh(x @ w)
                jdebug.print("mean {m}", m=y.mean())  # bad
                return y
            """
        },
        run="x = jax.numpy.ones((2, 2))\nassert 'debug' in str(jax.make_jaxpr(forward)(x, x))",
    ),
    Example(
        "each round of a compiled loop waits for the host",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax.experimental import io_callback

        def roll(write, xs):
            def body(carry, x):
                y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # bad
                io_callback(write, None, y)  # bad
                return carry + y, y

            return jax.lax.scan(body, jnp.zeros(()), xs)

        written = []
        rolled = jax.jit(partial(roll, written.append))
        """,
        run="rolled(jnp.ones(3)); jax.effects_barrier(); assert len(written) == 3",
    ),
)

GOOD = (
    Example(
        "behind a flag",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, static_argnames="verbose")
        def step(params, batch, verbose=False):
            loss = jnp.mean((batch @ params) ** 2)
            if verbose:
                jax.debug.print("loss {}", loss)
            return params - loss
        """,
        run="step(jnp.ones(2), jnp.ones((2, 2)))",
    ),
    Example(
        "only when it happens",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(x):
            def shout(v):
                jax.debug.print("not finite {}", v)

            jax.lax.cond(jnp.isfinite(x).all(), lambda v: None, shout, x)
            jax.lax.cond(x.sum() > 3, lambda v: jax.debug.print("large {}", v), lambda v: None, x)
            return x * 2
        """,
        run="step(jnp.ones(2))",
    ),
    Example(
        "a function that is there to print",
        """
        import jax
        import jax.numpy as jnp

        def print_norm(x):
            jax.debug.print("norm {}", jnp.linalg.norm(x))

        def step(x, debug):
            if debug:
                print_norm(x)
            return x * 2

        stepped = jax.jit(step, static_argnums=1)
        """,
        run="stepped(jnp.ones(2), True)",
    ),
    Example(
        "one call for what JAX cannot compute, and prints on the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def solve(x):
            return jax.pure_callback(np.linalg.inv, jax.ShapeDtypeStruct(x.shape, x.dtype), x) @ x

        def train(x):
            for step in range(2):
                x = solve(x)
                jax.debug.print("x {}", x)
            print(x)
        """,
        run="train(jnp.eye(2))",
    ),
)

RULE = SourceRule(
    code="JIT118",
    name="host-callback-in-step",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
