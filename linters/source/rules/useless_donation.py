"""An argument is donated, and there is nothing among the results that its memory could be used for.

## What it does
Reports donation to a jitted function whose results are all single numbers, or next versions of other arguments.

## Why is this bad?
An array is deleted for nothing: the memory of a donated argument is used only for a result of the same shape and type.
JAX says so in a warning when it compiles, which is easily lost, and the caller finds the array gone
(https://github.com/jax-ml/jax/issues/9675). What is aliased in the end is in the compiled
program: `contract-lint verify` lists it.

## Example
    @partial(jax.jit, donate_argnums=(0, 1))
    def evaluate(params, batch):
        return jnp.mean((batch @ params) ** 2)

## Use instead
    @jax.jit
    def evaluate(params, batch):
        return jnp.mean((batch @ params) ** 2)

## What stays clean
Results that may have the argument's shape, functions whose results are not known, arguments that are numbers
themselves, donation that is computed, tests.

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import Jit, jits
from ..rule import Example, SourceRule
from ..updates import donation_options, is_scalar, outputs, updated
from ..values.value import dotted

_DONATE = frozenset({"jax.jit", "jax.pjit", "jax.experimental.pjit.pjit", "jax.pmap", "equinox.filter_jit"})
_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for jit in jits(facts, _DONATE):
        if jit.callee.function is None or not donation_options(jit):
            continue
        options = facts.jit_options(jit.callee)
        if not options.donated_names:
            continue
        name = jit.callee.function.name
        useless = _useless(facts, jit, options.donated_names)
        if useless:
            yield facts.finding(
                RULE,
                jit.call.node,
                f"{name}() returns nothing that the memory of {' and '.join(useless)} could be used for",
                subject=f"{name}: {', '.join(useless)} donated",
                help="do not donate it; contract-lint verify shows what is aliased",
            )


def _useless(facts: FileFacts, jit: Jit, names: frozenset[str]) -> list[str]:
    """The donated parameters that no result can take over; empty where a result is not known."""
    leaves = list(outputs(facts, jit))
    if not leaves:
        return []
    renewed: set[str] = set()
    for leaf in leaves:
        if is_scalar(facts, leaf):
            continue
        name = updated(facts, leaf)
        if name is None:
            return []
        renewed.add(name)
    function = jit.callee.function
    assert function is not None
    numbers = {each.name for each in function.parameters if dotted(each.annotation) in _NUMBERS}
    return sorted(names - renewed - numbers)


BAD = (
    Example(
        "nothing comes back but numbers",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, donate_argnums=(0,))  # bad
        def evaluate(params, batch):
            errors = (batch @ params) ** 2
            return {"loss": jnp.mean(errors), "worst": errors.max()}
        """,
        run="""
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    evaluate(jnp.ones(2), jnp.ones((2, 2)))
assert any("donated buffers were not usable" in str(each.message) for each in seen)
""",
    ),
    Example(
        "the batch beside the state, in a step of another file",
        """
        import jax
        from steps import train_step

        step = jax.jit(train_step, donate_argnames=("state", "batch"))  # bad
        """,
        files={
            "steps.py": """
            import jax
            import jax.numpy as jnp

            def train_step(state, batch):
                loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(state.params)
                return state.apply_gradients(grads=grads), loss
            """
        },
    ),
    Example(
        "a helper reduces it, a lambda through an alias",
        """
        import jax as j
        import jax.numpy as jnp

        def total(x):
            return jnp.sum(x * x)

        compile_ = j.jit
        norm = compile_(lambda x, y: total(x) + total(y) * 2, donate_argnums=(0, 1))  # bad
        """,
        run="norm(jnp.ones(3), jnp.ones(2))",
    ),
)

GOOD = (
    Example(
        "the next version takes the memory",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, donate_argnames=("state",))
        def step(state, batch):
            return state + batch.sum(), batch.mean()
        """,
        run="step(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "results of unknown shape",
        """
        import jax
        import jax.numpy as jnp

        rows = jax.jit(lambda x: jnp.mean(x, axis=0), donate_argnums=0)
        kept = jax.jit(lambda x: x.sum(axis=-1, keepdims=True), donate_argnums=0)

        def apply(f, x):
            return jax.jit(f, donate_argnums=0)(x)
        """,
        run="rows(jnp.ones((1, 2)))\nkept(jnp.ones((1, 1)))",
    ),
    Example(
        "a number is donated for a number",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, donate_argnums=0)
        def count(total: float, batch):
            return total + jnp.sum(batch)
        """,
        run="count(jnp.zeros(()), jnp.ones(2))",
    ),
    Example(
        "donation that is computed, evaluation that donates nothing",
        """
        import jax
        import jax.numpy as jnp

        def make(donate):
            return jax.jit(lambda p, b: jnp.mean(b @ p), donate_argnums=donate)

        evaluate = jax.jit(lambda p, b: jnp.mean(b @ p))
        """,
        run="make(())(jnp.ones(2), jnp.ones((2, 2)))",
    ),
)

RULE = SourceRule(
    code="MEM103",
    name="useless-donation",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
