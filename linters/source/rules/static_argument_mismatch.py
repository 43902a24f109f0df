"""A static or donated argument is named that the function does not have.

## What it does
Compares `static_argnums`, `static_argnames`, `donate_argnums` and `donate_argnames` with the signature of the
function that is compiled: names that no parameter has, numbers beyond its positional parameters (those that `partial`
or an instance already binds do not count), and parameters that are said to be both static and donated.

## Why is this bad?
JAX refuses it with a ValueError when the function is wrapped, which for a decorator means: when the module is
imported. It happens when a parameter is renamed, moved or made keyword-only and the list of numbers beside it is
forgotten; a number that still fits then silently makes another argument static
(https://github.com/google/flax/issues/4146 is about such a mix-up).

## Example
    @partial(jax.jit, static_argnames=("training",))
    def forward(params, batch, train):
        ...

## Use instead
    @partial(jax.jit, static_argnames=("train",))
    def forward(params, batch, train):
        ...

## What stays clean
Functions that take `**kwargs` may be told any name, those that take `*args` any number. Numbers and names that are
computed, functions whose signature is not in sight, and `jax.pmap`, which looks at the numbers only when it is
called.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
- https://github.com/google/flax/issues/4146
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import Jit, jits
from ..rule import Example, SourceRule
from ..transforms import TRANSFORMS

_CHECKED = frozenset(
    {"jax.jit", "jax.pjit", "jax.experimental.pjit.pjit", "flax.nnx.jit", "jax.checkpoint", "jax.remat"}
)
_NUMBERS = ("static_argnums", "donate_argnums")
_NAMES = ("static_argnames", "donate_argnames")


def check(facts: FileFacts) -> Iterable[Finding]:
    for jit in jits(facts, _CHECKED):
        if jit.callee.function is not None:
            yield from _mismatches(facts, jit)


def _mismatches(facts: FileFacts, jit: Jit) -> Iterable[Finding]:
    options, callee = jit.wrapped.options, jit.callee
    assert callee.function is not None
    parameters = callee.function.parameters
    kinds = {each.kind for each in parameters}
    positional = [each.name for each in parameters if each.kind == "positional"][len(callee.bound) :]
    named = [each.name for each in parameters if each.kind in ("positional", "keyword")][len(callee.bound) :]
    # What partial binds by name can only be given by name from there on, and so can all that follows it.
    for at, name in enumerate(positional):
        if name in callee.bound_keywords:
            positional = positional[:at]
            break
    shown = callee.function.name if not callee.function.name.startswith("<") else "the lambda"
    for option in _NUMBERS:
        if option not in options or "star" in kinds:
            continue
        numbers = facts.constant(options[option])
        numbers = (numbers,) if type(numbers) is int else numbers
        if not isinstance(numbers, tuple):
            continue
        for number in numbers:
            if type(number) is int and not -len(positional) <= number < len(positional):
                takes = f"takes {len(positional)} positional argument{'s' * (len(positional) != 1)}"
                yield _finding(facts, jit, f"{option} names argument {number}, but {shown} {takes}", option, positional)
    for option in _NAMES:
        names = facts.strings(options[option]) if option in options else None
        if names is None or "double_star" in kinds:
            continue
        for name in sorted(names - set(named)):
            yield _finding(facts, jit, f"{option} names {name!r}, but {shown} has no such parameter", name, named)
    known = facts.jit_options(callee)
    for name in sorted((known.static_names or frozenset()) & (known.donated_names or frozenset())):
        yield _finding(facts, jit, f"{name!r} of {shown} is both static and donated", name, [])


def _finding(facts: FileFacts, jit: Jit, message: str, subject: str, known: list[str]) -> Finding:
    close = get_close_matches(subject, known, 1)
    takes = f"it takes {', '.join(known)}" if known else "take it out of one of the two"
    return facts.finding(
        RULE,
        jit.call.node,
        message,
        subject=f"{jit.callee.function.name if jit.callee.function else ''}: {subject}",
        help=f"did you mean {close[0]!r}? " + takes if close else takes,
        confidence="certain" if _plain(facts, jit) else "likely",
    )


def _plain(facts: FileFacts, jit: Jit) -> bool:
    """Whether no decorator that is not known stands between the transform and the signature that is seen here."""
    decorators = getattr(jit.callee.function, "decorators", ())
    return all(facts.callee(each).name in TRANSFORMS or facts.callee(each).wraps for each in decorators) and all(
        each.name in TRANSFORMS for each in jit.callee.wraps
    )


BAD = (
    Example(
        "names that no parameter has",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("training", "config"))  # bad
        def forward(params, batch, train, config):
            return params * batch * config if train else params * batch
        """,
        raises="ValueError",
        run="pass",
    ),
    Example(
        "numbers beyond the parameters",
        """
        import jax


        def rollout(state, keys, *, length=4):
            return jax.lax.scan(lambda carry, key: (carry + key, carry), state, keys, length=length)


        compiled = jax.jit(rollout, static_argnums=2)  # bad
        """,
        raises="ValueError",
        run="pass",
    ),
    Example(
        "what partial binds no longer counts",
        """
        import functools
        import jax


        def loss(model, params, batch, scale):
            return model(params, batch) * scale


        bound = functools.partial(loss, lambda params, batch: params @ batch)
        compiled = jax.jit(bound, static_argnums=(3,))  # bad
        """,
        raises="ValueError",
        run="pass",
    ),
    Example(
        "a bound method counts without self",
        """
        import jax


        class Agent:
            def act(self, params, observation):
                return params @ observation

            def build(self):
                return jax.jit(self.act, static_argnums=(2,))  # bad
        """,
        raises="ValueError",
        run="Agent().build()",
    ),
    Example(
        "through an alias, on a function of another file",
        """
        import jax
        from steps import update

        compile_step = jax.jit
        step = compile_step(update, donate_argnames=("opt_state",))  # bad
        """,
        raises="ValueError",
        run="pass",
        files={
            "steps.py": """
            def update(params, optimizer_state, grads):
                return params - grads, optimizer_state
            """
        },
    ),
    Example(
        "static and donated at once",
        """
        import jax


        def advance(state, steps):
            return state + steps


        step = jax.jit(advance, static_argnums=1, donate_argnames=("state", "steps"))  # bad
        """,
        raises="ValueError",
        run="pass",
    ),
)

GOOD = (
    Example(
        "names and numbers that fit",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("train",), donate_argnums=0)
        def forward(state, batch, train=False):
            return state * batch if train else state + batch


        @partial(jax.jit, static_argnums=(-1,))
        def tile(x, times):
            return jax.numpy.tile(x, times)
        """,
        run="import jax.numpy as jnp\nforward(jnp.ones(2), jnp.ones(2), train=True)\ntile(jnp.ones(2), 3)",
    ),
    Example(
        "open signatures take any",
        """
        import jax


        def call(x, **options):
            return x * len(options)


        def add(*terms):
            return sum(terms[:2])


        first = jax.jit(call, static_argnames=("mode", "depth"))
        second = jax.jit(add, static_argnums=(2, 3))
        """,
        run="first(1.0, mode='a')\nsecond(1.0, 2.0, 'a', 'b')",
    ),
    Example(
        "a method counts with self, a bound one without",
        """
        import functools
        import jax


        class Filter:
            @functools.partial(jax.jit, static_argnums=(0, 2))
            def smooth(self, x, width):
                return x * width

            def build(self):
                return jax.jit(self.smooth, static_argnums=(1,))
        """,
        run="Filter().smooth(1.0, 2)\nFilter().build()(1.0, 2)",
    ),
    Example(
        "a name that partial binds may be named",
        """
        import functools
        import jax


        def loss(params, scale, train):
            return params * scale if train else params


        step = jax.jit(functools.partial(loss, train=True), static_argnames=("train",))
        numbers = [1]
        other = jax.jit(loss, static_argnums=tuple(numbers + [2]))
        """,
        run="step(1.0, 2.0)",
    ),
)

RULE = SourceRule(
    code="JIT109", name="static-argument-mismatch", severity="error", doc=__doc__ or "", check=check, bad=BAD, good=GOOD
)
