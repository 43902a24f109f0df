"""The result of a function that changes nothing is thrown away.

## What it does
Finds statements that are a call of a pure function and nothing else: `x.at[i].set(v)` and its kin,
`optax.apply_updates`, `state.apply_gradients(grads=...)`, `jax.random.split`, and methods such as `x.sort()` or
`x.reshape(...)` of a JAX array.

## Why is this bad?
JAX arrays never change, and what is made of them is new. Without a name for the result the statement does nothing: the
parameters stay as they were, and training goes on without learning
(https://github.com/reservoirpy/reservoirpy/issues/234, https://github.com/jax-ml/jax/issues/2287). In compiled code
even the work is dropped.

## Example
    updates, opt_state = tx.update(grads, opt_state, params)
    optax.apply_updates(params, updates)

## Use instead
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)

## What stays clean
Calls that are there for what they do: `jax.block_until_ready`, callbacks, `nnx.update` and other methods that change
their object, references of kernels, NumPy arrays, statements in `try` or in a `with` that waits for an error, tests.

## References
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#in-place-updates
- https://optax.readthedocs.io/en/latest/api/apply_updates.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....contracts.finding import Finding
from ..arrays import is_array, may_be_reference, updated_at
from ..facts import FileFacts
from ..records import Branch, Call
from ..rule import Example, SourceRule

_PURE = frozenset(
    {
        "optax.apply_updates", "optax.incremental_update", "optax.periodic_update", "equinox.apply_updates",
        "equinox.tree_at", "jax.random.split", "jax.random.fold_in",
    }
)  # fmt: skip
_METHODS = frozenset(
    {"sort", "reshape", "astype", "clip", "squeeze", "transpose", "swapaxes", "ravel", "flatten", "round", "repeat"}
)


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            statement = call.statement
            if not isinstance(statement, ast.Expr) or statement.value is not call.node or _may_raise(facts, call):
                continue
            confidence = _is_pure(facts, call)
            if confidence is None:
                continue
            called = facts.text(getattr(call.node, "func", call.node))
            yield facts.finding(
                RULE,
                call.node,
                f"the result of `{called}` is thrown away, and it changes nothing else",
                subject=f"{function.name}: {called}",
                help=f"bind the result to a name: {_bound(facts, call)}",
                confidence=confidence,
            )


def _is_pure(facts: FileFacts, call: Call) -> str | None:
    """How sure it is that a call gives something new and does nothing; None where it may do something."""
    callee = facts.callee(call)
    name = callee.name
    if name in _PURE and not callee.wraps and callee.function is None:
        return "certain"
    array = updated_at(call)
    if array is not None:
        if call.func.data == "get" or may_be_reference(facts, array) or facts.type_of(array) is not None:
            return None
        return "certain" if is_array(facts, array) or facts.is_tracer(array) else "likely"
    if call.func.op != "attr" or name != f".{call.func.data}":
        return None
    base = call.func.args[0]
    if call.func.data == "apply_gradients":
        return "likely" if "grads" in call.keywords and facts.type_of(base) is None else None
    return "certain" if call.func.data in _METHODS and is_array(facts, base) else None


def _may_raise(facts: FileFacts, call: Call) -> bool:
    """Whether it stands where an error is waited for."""
    for each in call.block.chain():
        if each.arm == "try" and isinstance(each.branch, Branch):
            return True
        if each.arm == "with" and each.guard is not None and each.guard.op == "call":
            name = (facts.callee(each.guard.data).name or "").rpartition(".")[2].lower()
            if name.startswith(("raises", "warns", "assertraises", "suppress")):
                return True
    return False


def _bound(facts: FileFacts, call: Call) -> str:
    """The statement as it is meant."""
    node = call.node
    array = updated_at(call)
    if array is not None and isinstance(node, ast.Call):
        written: ast.expr = node.func.value.value.value  # type: ignore[attr-defined]
    elif call.func.op == "attr" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        written = node.func.value
    elif isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        written = node.args[0]
    else:
        return "new = ..."
    return f"{facts.text(written)} = ..."


BAD = (
    Example(
        "updates that nobody takes",
        """
        import jax
        import optax

        tx = optax.sgd(0.1)

        @jax.jit
        def step(params, opt_state, grads):
            updates, opt_state = tx.update(grads, opt_state, params)
            optax.apply_updates(params, updates)  # bad
            return params, opt_state

        def train(state, grads):
            for each in grads:
                state.apply_gradients(grads=each)  # bad
            return state
        """,
        also=("undonated-state",),
    ),
    Example(
        "as if arrays changed in place",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def clear(x, index):
            x.at[index].set(0.0)  # bad
            return x

        def table(keys, key):
            found = jnp.zeros(4)
            found.at[1:].add(1.0)  # bad
            found.sort()  # bad
            found.reshape(2, 2)  # bad
            keys.at[0].multiply(2)  # bad
            jax.random.split(key)  # bad
            return found
        """,
    ),
)

GOOD = (
    Example(
        "results with a name, calls that do something",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np
        import optax
        from flax import nnx

        def train(model, optimizer, params, updates, grads, x):
            params = optax.apply_updates(params, updates)
            x = x.at[0].set(1.0)
            optimizer.update(model, grads)
            nnx.update(model, params)
            jax.block_until_ready(params)
            jax.debug.callback(print, x)
            table = np.zeros(3)
            table.sort()
            found = [1, 2]
            found.sort()
            try:
                jnp.zeros(3).at[0].set("a")
            except TypeError:
                pass
            return params, x, x.at[1].add(1)

        def kernel(x_ref, out_ref):
            out_ref.at[0].set(x_ref[...])

        class Tracker:
            def apply_gradients(self, grads):
                self.grads = grads

        tracker = Tracker()
        tracker.apply_gradients(grads=1)
        """,
    ),
)

RULE = SourceRule(
    code="JIT123",
    name="discarded-result",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
