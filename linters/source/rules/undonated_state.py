"""A compiled step returns the next version of its state, and does not donate the last one.

## What it does
Reports a jitted function that returns parameters or optimizer state updated with gradients (`optax.apply_updates`,
`apply_gradients`, a `tree.map` over parameters and gradients), where nothing is donated.

## Why is this bad?
Both versions are in memory at the same time: parameters and moments twice at the peak. With donation the new ones are
written where the old ones were; one report measured a third less memory (https://github.com/poets-ai/elegy/pull/226).
Whether the compiler could use the memory is known after lowering only: `contract-lint verify` lists what is aliased.

## Example
    @jax.jit
    def train_step(params, opt_state, batch):
        grads = jax.grad(loss)(params, batch)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

## Use instead
    @partial(jax.jit, donate_argnames=("params", "opt_state"))
    def train_step(params, opt_state, batch):
        ...

## What stays clean
Steps that evaluate, arithmetic on a single array, functions whose callers read the old state after the call or may run
again on it, donation that is computed elsewhere or a choice of the caller, functions inside compiled code or called
there, `flax.nnx.jit` (modules are updated in place), tests. States that are small as far as the code says it: made in
plain sight with less than 1 MiB, or in a folder of examples that writes no width of 512 or more.

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
- https://github.com/jax-ml/jax/issues/1273
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import Jit, jits
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..sizes import tree_bytes, widest
from ..text import is_example_path
from ..updates import donation_options, outputs, updated
from ..values.value import Value

SMALL = 2**20
"""Bytes of a state below which nobody misses the memory of a second one."""
WIDE = 512
"""Width from which an example is more than a toy: one square layer with its two moments has 3 MiB."""
_DONATE = frozenset({"jax.jit", "jax.pjit", "jax.experimental.pjit.pjit", "jax.pmap", "equinox.filter_jit"})


def check(facts: FileFacts) -> Iterable[Finding]:
    if is_example_path(facts.path) and widest(facts) < WIDE:
        return
    for jit in jits(facts, _DONATE):
        if jit.callee.function is None or facts.traced(jit.function) is not None or donation_options(jit):
            continue
        names = {updated(facts, each) for each in outputs(facts, jit)} - {None}
        static = facts.jit_options(jit.callee).static_names or frozenset()
        found = sorted(each for each in names if each is not None and each not in static and each != "self")
        if not found or _has_a_choice(facts, jit):
            continue
        calls = list(_calls(facts, jit))
        if any(_keeps(facts, *each, found) or _is_small(facts, each[1], found) for each in calls):
            continue
        yield facts.finding(
            RULE,
            jit.call.node,
            f"{jit.callee.function.name}() returns the next {' and '.join(found)}, and the last stays in memory too",
            subject=f"{jit.callee.function.name}: {', '.join(found)}",
            help=f"donate_argnames={tuple(found)!r}, where the old state is not used again; "
            "contract-lint verify shows what is aliased",
        )


def _has_a_choice(facts: FileFacts, jit: Jit) -> bool:
    """Whether the same function is compiled with donation too, in the other arm of somebody's choice."""
    id = getattr(jit.callee.function, "id", None)
    others = (each for each in jits(facts, _DONATE) if donation_options(each))
    return any(each.callee.function is not None and each.callee.function.id == id for each in others)


def _calls(facts: FileFacts, jit: Jit) -> Iterator[tuple[Function, Call]]:
    """The calls of a compiled function in this file."""
    for function in facts.functions:
        for call in function.calls:
            wrapped = facts.callee(call).jit
            if wrapped is not None and wrapped.value is jit.wrapped.value:
                yield function, call


def _keeps(facts: FileFacts, function: Function, call: Call, names: list[str]) -> bool:
    """Whether the old state is needed after a call, or the call stands in compiled code, where nothing is donated.

    It is needed where it is read again, and where it belongs to the code round a function that can run twice.
    """
    if facts.traced(function) is not None:
        return True
    given = {id(each) for each in call.args[:1] if each.op not in ("const", "name")}
    later = (each for each in function.reads if each.order > call.order)
    if any(id(each.value) in given and each.statement is not call.statement for each in later):
        return True
    if function.is_module or any(each.kind in ("nonlocal", "global") for each in function.stores):
        return False
    arguments = facts.arguments(call)
    states = [arguments[name] for name in names if name in arguments]
    return any(_maker(each) not in (None, function) for each in states)


def _is_small(facts: FileFacts, call: Call, names: list[str]) -> bool:
    """Whether the code shows that the state which a call is given has a few bytes."""
    arguments = facts.arguments(call)
    sizes = [tree_bytes(facts, arguments[name]) if name in arguments else None for name in names]
    return all(each is not None for each in sizes) and sum(each or 0 for each in sizes) < SMALL


def _maker(value: Value) -> Function | None:
    """The function whose parameter or call a value is a part of; None where that is not known."""
    while value.op in ("attr", "item"):
        value = value.args[0]
    return value.data.function if value.op in ("param", "call") else None


BAD = (
    Example(
        "a step of an optimizer",
        """
        import jax
        import optax

        def make(tx, loss):
            @jax.jit  # bad
            def train_step(params, opt_state, batch):
                grads = jax.grad(loss)(params, batch)
                updates, opt_state = tx.update(grads, opt_state, params)
                params = optax.apply_updates(params, updates)
                return params, opt_state

            return train_step
        """,
    ),
    Example(
        "a helper of another file updates, under an alias and a partial",
        """
        from functools import partial
        import jax as j
        import jax.numpy as jnp
        from steps import descend

        def loss(params, batch):
            return jnp.mean((batch @ params["w"]) ** 2)

        def step(rate, params, batch):
            value, grads = j.value_and_grad(loss)(params, batch)
            return descend(params, grads, rate), {"loss": value}

        fast = j.jit(partial(step, 0.1))  # bad
        """,
        files={
            "steps.py": """
            import jax

            def descend(params, grads, rate):
                return jax.tree.map(lambda p, g: p - rate * g, params, grads)
            """
        },
        run="fast({'w': jnp.ones(2)}, jnp.ones((2, 2)))",
    ),
    Example(
        "a state of several parts that is made anew",
        """
        from typing import NamedTuple
        import jax
        import optax

        class TrainState(NamedTuple):
            params: dict
            opt_state: optax.OptState

        def make(tx, loss):
            def train_step(state: TrainState, batch):
                value, grads = jax.value_and_grad(loss)(state.params, batch)
                updates, opt_state = tx.update(grads, state.opt_state, state.params)
                return TrainState(optax.apply_updates(state.params, updates), opt_state), value

            return jax.pmap(train_step, axis_name="devices")  # bad
        """,
    ),
    Example(
        "a train state, and the step of another file",
        """
        import jax
        from steps import advance

        compiled = jax.jit(advance, static_argnames="config")  # bad
        """,
        files={
            "steps.py": """
            import jax

            def advance(state, batch, config):
                grads, aux = jax.grad(lambda p: state.apply_fn(p, batch), has_aux=True)(state.params)
                return state.apply_gradients(grads=grads), aux
            """
        },
    ),
)

GOOD = (
    Example(
        "a state of a few bytes, made in plain sight",
        """
        import jax
        import jax.numpy as jnp
        import optax

        tx = optax.adam(0.1)

        @jax.jit
        def step(params, opt_state, batch):
            grads = jax.grad(lambda p: jnp.mean((batch @ p["w"] + p["b"]) ** 2))(params)
            updates, opt_state = tx.update(grads, opt_state, params)
            return optax.apply_updates(params, updates), opt_state

        def start(key):
            return {"w": 0.1 * jax.random.normal(key, (4, 3)), "b": jnp.zeros(3)}

        def fit(batches):
            params = start(jax.random.key(0))
            opt_state = tx.init(params)
            for batch in batches:
                params, opt_state = step(params, opt_state, batch)
            return params
        """,
        run="fit([jnp.ones((2, 4))] * 2)",
    ),
    Example(
        "donated, by number, by name, and as somebody else says",
        """
        from functools import partial
        import jax
        import optax

        def make(tx, loss, donate):
            def step(params, opt_state, batch):
                updates, opt_state = tx.update(jax.grad(loss)(params, batch), opt_state, params)
                return optax.apply_updates(params, updates), opt_state

            named = partial(jax.jit, donate_argnames=("params", "opt_state"))
            return jax.jit(step, donate_argnums=(0, 1)), named(step), jax.jit(step, donate_argnums=donate)
        """,
    ),
    Example(
        "evaluation",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def evaluate(params, batch):
            value, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
            return value, jnp.linalg.norm(grads), params
        """,
        run="evaluate(jnp.ones(2), jnp.ones((2, 2)))",
    ),
    Example(
        "the old state is still used",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(params, batch):
            grads = jax.grad(lambda p: jnp.mean((batch @ p["w"]) ** 2))(params)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

        @jax.jit
        def one_array(w, batch):
            return w - 0.1 * jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(w)

        def search(params, batch):
            tried = step(params, batch)
            return jax.tree.map(lambda new, old: jnp.where(jnp.abs(new).max() < 3, new, old), tried, params)
        """,
        run="search({'w': jnp.ones(2)}, jnp.ones((2, 2)))",
    ),
    Example(
        "the caller has the choice; a measurement runs again on the same state",
        """
        import time
        import jax
        import optax

        def make(tx, loss, donate):
            def step(params, opt_state, batch):
                updates, opt_state = tx.update(jax.grad(loss)(params, batch), opt_state, params)
                return optax.apply_updates(params, updates), opt_state

            if donate:
                return jax.jit(step, donate_argnames=("params", "opt_state"))
            return jax.jit(step)

        def seconds(f, tries=3):
            start = time.perf_counter()
            for _ in range(tries):
                jax.block_until_ready(f())
            return (time.perf_counter() - start) / tries

        def measure(loss, params, batch):
            step = jax.jit(lambda p, b: jax.tree.map(lambda x, g: x - g, p, jax.grad(loss)(p, b)))
            return seconds(lambda: step(params, batch))
        """,
        run="measure(lambda p, b: (p[0] * b).sum(), [jax.numpy.ones(2)], 2.0)",
    ),
    Example(
        "compiled, and called in a program that is compiled as a whole",
        """
        import jax
        import optax

        def fit(tx, loss, params, batches):
            def step(params, opt_state, batch):
                updates, opt_state = tx.update(jax.grad(loss)(params, batch), opt_state, params)
                return optax.apply_updates(params, updates), opt_state

            fast = jax.jit(step)

            def body(carry, batch):
                return fast(*carry, batch), None

            return jax.lax.scan(body, (params, tx.init(params)), batches)[0]
        """,
    ),
    Example(
        "inside a compiled function, and modules",
        """
        import jax
        import jax.numpy as jnp
        from flax import nnx

        def loss(p, b):
            return jnp.mean((b @ p[0]) ** 2)

        @jax.jit
        def losses(params, batches):
            move = lambda p, b: jax.tree.map(lambda x, g: x - g, p, jax.grad(loss)(p, b))
            inner = jax.jit(move)
            return jnp.mean(inner(params, batches)[0])

        @nnx.jit
        def train_step(model, optimizer, batch):
            optimizer.update(model, nnx.grad(lambda m: m(batch).mean())(model))
        """,
        run="losses([jnp.ones(2)], jnp.ones((2, 2)))",
    ),
)

RULE = SourceRule(
    code="MEM102",
    name="undonated-state",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
