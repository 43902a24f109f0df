"""A method of a frozen module sets an attribute of the module.

## What it does
Finds `self.x = value` and `self.x += 1` in methods of Flax Linen and Equinox modules that run after the module is made:
`__call__`, compact methods, and those they call.

## Why is this bad?
These modules cannot change once they are set up: the statement raises SetAttributeFrozenModuleError or
FrozenInstanceError (https://github.com/google/flax/issues/674, https://github.com/google/flax/issues/944). What it
would store is a tracer besides, which is dead when the call is over.

## Example
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.Dense(4)(x)
            self.last_hidden = h
            return nn.relu(h)

## Use instead
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.Dense(4)(x)
            self.sow("intermediates", "last_hidden", h)
            return nn.relu(h)

State that lives on belongs in a variable (`self.variable("stats", "count", ...)`); an Equinox module returns it.

## What stays clean
`setup`, `__init__` and `__post_init__`, what they call alone, local names, values of variables (`count.value = ...`),
Flax NNX modules, classes that define `__setattr__`.

## References
- https://flax-linen.readthedocs.io/en/latest/api_reference/flax.errors.html
- https://docs.kidger.site/equinox/faq/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..concrete import is_conditional, may_be_concrete
from ..facts import FileFacts
from ..records import Function, Store
from ..rule import Example, SourceRule

_MAKES = frozenset({"setup", "__init__", "__post_init__", "__new__", "__setattr__", "__setstate__"})
_HELP = {
    "flax.linen.Module": 'hand it out with self.sow("intermediates", ...), or keep it in self.variable(...)',
    "equinox.Module": "return the value, or a new module made with eqx.tree_at",
}


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, _ in facts.traced_functions():
        help = _HELP.get(_frozen(facts, function) or "")
        if help is None:
            continue
        for store in function.stores:
            if not _sets_own(function, store) or may_be_concrete(facts, store):
                continue
            yield facts.finding(
                RULE,
                store.node,
                f"`{facts.text(store.node)}` is set, but the module is frozen once it is made",
                subject=f"{function.name}: {facts.text(store.node)}",
                because=facts.why(function),
                help=help,
                confidence="likely" if is_conditional(store.block) else "certain",
            )


def _frozen(facts: FileFacts, function: Function) -> str | None:
    """The base that freezes the module whose method a function is; None where it may set attributes."""
    owner = function.owner
    if owner is None or function.name in _MAKES or _called_while_made(facts, function):
        return None
    if facts.program.member(owner.id, "__setattr__") is not None:
        return None
    return facts.program.module_kind(owner.id)


def _called_while_made(facts: FileFacts, function: Function) -> bool:
    """Whether the methods that make the module call it: it may be meant for them."""
    callers = facts.program.callers.get(function.id, ())
    return any(facts.program.function_data[caller][0]["n"] in _MAKES for caller, _, _ in callers)


def _sets_own(function: Function, store: Store) -> bool:
    base = store.base
    if store.kind != "attribute" or base is None or base.op != "param" or store.name.startswith("__"):
        return False
    return base.data.function is function and base.data.index == 0 and base.data.name == "self"


BAD = (
    Example(
        "an activation that is kept for later",
        """
        import jax
        import jax.numpy as jnp
        from flax import linen as nn

        class Block(nn.Module):
            @nn.compact
            def __call__(self, x):
                h = nn.Dense(4)(x)
                self.last_hidden = h  # bad
                return self.count(nn.relu(h))

            def count(self, h):
                self.calls = 1  # bad
                return h
        """,
        raises="SetAttributeFrozenModuleError",
        run="Block().init(jax.random.key(0), jnp.ones(3))",
    ),
    Example(
        "a counter of an Equinox module",
        """
        import equinox as eqx

        class Layer(eqx.Module):
            weight: float
            calls: int = 0

            def __call__(self, x):
                self.calls += 1  # bad
                return self.weight * x
        """,
        raises="FrozenInstanceError",
        run="Layer(2.0)(1.0)",
    ),
)

GOOD = (
    Example(
        "set while the module is made, sown, or kept in a variable",
        """
        import equinox as eqx
        import jax
        import jax.numpy as jnp
        from flax import linen as nn
        from flax import nnx

        class Block(nn.Module):
            def setup(self):
                self.dense = nn.Dense(4)
                self._build()

            def _build(self):
                self.scale = 2.0

            @nn.compact
            def __call__(self, x):
                count = self.variable("stats", "count", lambda: jnp.zeros(()))
                count.value = count.value + 1
                h = self.dense(x)
                self.sow("intermediates", "hidden", h)
                return h * self.scale

        class Layer(nnx.Module):
            def __init__(self):
                self.calls = 0

            def __call__(self, x):
                self.calls += 1
                return x

        class Small(eqx.Module):
            weight: float

            def __init__(self, weight):
                self.weight = weight

            def __call__(self, x):
                return self.weight * x
        """,
        run="Block().init(jax.random.key(0), jnp.ones(3)), Layer()(1.0), Small(1.0)(2.0)",
    ),
)

RULE = SourceRule(
    code="JIT122",
    name="frozen-module-attribute",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
