"""A value of a traced function is put where it outlives the trace.

## What it does
Reports, in traced functions, values of array operations that are stored in a global, in a list, dictionary or object
made outside of the trace, in a `nonlocal` name of a function that is not traced, or on `self` of a plain class.

## Why is this bad?
The function runs once, while it is traced; what it stores is a tracer, which is dead afterwards. Its first use raises
UnexpectedTracerError, often far away (https://github.com/jax-ml/jax/issues/3086,
https://github.com/jax-ml/jax/pull/13022). Later calls run the compiled program and store nothing at all.

## Example
    losses = []

    @jax.jit
    def step(params, batch):
        loss = jnp.mean((batch @ params) ** 2)
        losses.append(loss)
        return params - loss

## Use instead
    @jax.jit
    def step(params, batch):
        loss = jnp.mean((batch @ params) ** 2)
        return params - loss, loss

    params, loss = step(params, batch)
    losses.append(loss)

What has to leave in the middle goes through `jax.debug.callback`.

## What stays clean
Containers and objects made in the trace, a function's own carry and arguments, shapes and other static values, methods
of Flax, Equinox and Haiku modules, methods of objects that the trace itself makes, pytree arguments, host functions.

## References
- https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError
- https://docs.jax.dev/en/latest/control-flow.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....contracts.finding import Finding
from ..concrete import is_sure, may_be_concrete
from ..facts import TRACERS, FileFacts
from ..origins import maker, outside, owner_of_name, root
from ..records import Function, Store
from ..rule import SourceRule
from ..twins.leaked_tracer import BAD, GOOD
from ..values.value import Value

_GROWS = frozenset({"append", "extend", "appendleft", "insert", "setdefault"})
_FREE = frozenset({"__init__", "__post_init__", "__new__", "setup", "__setstate__", "tree_unflatten"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        for store in (*function.stores, *_set_by_name(facts, function)):
            stored = _stored(store)
            if store.kind == "name" or _is_functional(store) or not facts.held(stored) & TRACERS:
                continue
            place = _outlives(facts, function, store)
            if place is None or may_be_concrete(facts, store):
                continue
            yield facts.finding(
                RULE,
                store.node,
                f"a tracer is stored in {place}, which outlives the trace",
                subject=f"{function.name}: {facts.text(store.node)}",
                because=facts.why(function),
                help="return the value from the traced function, or hand it out with jax.debug.callback",
                confidence="certain" if is_sure(traced) and "array" in facts.held(stored) else "likely",
            )


def _stored(store: Store) -> Value:
    """What is put there: of `held += [value]`, the list that is added."""
    value = store.value
    added = value.args[1] if store.augmented == "Add" and value.op == "bin" else value
    return added if added.op in ("list", "tuple", "comp") else value


def _set_by_name(facts: FileFacts, function: Function) -> Iterable[Store]:
    """`setattr(object, "name", value)` as the store that it is."""
    for call in function.calls:
        if len(call.args) == 3 and facts.callee(call).name in ("builtins.setattr", "builtins.object.__setattr__"):
            base, name, value = call.args
            shown = name.data if name.op == "const" and isinstance(name.data, str) else ""
            yield Store(call.node, call.block, function, call.order, call.statement, "attribute", shown, value, base)


def _is_functional(store: Store) -> bool:
    """Whether what a method like `update` gives back is used: those of containers give nothing."""
    if store.kind != "method" or store.name == "setdefault":
        return False
    return not isinstance(store.statement, ast.Expr) or store.statement.value is not store.node


def _outlives(facts: FileFacts, function: Function, store: Store) -> str | None:
    """The thing that is stored into, where it is older than the trace; None where it is not, or not known."""
    if store.kind == "global":
        return f"the global `{store.name}`"
    if store.kind == "nonlocal":
        owner = owner_of_name(function, store.name)
        return f"`{store.name}` of {owner.name}()" if owner is not None and outside(facts, function, owner) else None
    if store.base is None:
        return None
    base = root(store.base, store.kind == "item")
    if base is None:
        return None
    if base.op == "param":
        owner = base.data.function
        if owner is function:
            return _kept_default(facts, function, store, base) or _self(facts, function, store, base)
        if not isinstance(owner, Function) or not outside(facts, function, owner):
            return None
        grows = store.kind == "method" and store.name in _GROWS
        return f"`{base.data.name}` of {owner.name}()" if grows or not _is_module_object(facts, base) else None
    if base.op == "class":
        return f"the class `{base.data.name}`" if outside(facts, function, base.data.parent) else None
    if base.op == "call" and facts.callee(base.data).name == "builtins.globals":
        return "the globals of the module"
    made = maker(facts, base)
    if made is None or made is function or not outside(facts, function, made):
        return None
    if store.kind == "attribute" and _is_module_object(facts, base):
        return None
    where = "the module" if made.is_module else f"{made.name}()"
    return f"what {where} made outside of it"


def _kept_default(facts: FileFacts, function: Function, store: Store, base: Value) -> str | None:
    """A list or dictionary that is the default of a parameter is made once, and every call that gives none gets it."""
    default, traced = base.data.default, facts.traced(function)
    if default is None or default.op not in ("list", "dict", "set") or traced is None or not traced.direct:
        return None
    if traced.parameters.get(base.data.name, "unknown") != "unknown" or store.kind not in ("method", "item"):
        return None
    return f"the default of `{base.data.name}`"


def _self(facts: FileFacts, function: Function, store: Store, base: Value) -> str | None:
    """`self.x = v` in a method that is itself handed to a transform: of a class that is no pytree and no Module."""
    traced = facts.traced(function)
    owner = function.owner
    if owner is None or base.data.index != 0 or traced is None or not traced.direct or function.name in _FREE:
        return None
    if traced.parameters.get(base.data.name) == "traced" or not _is_plain(facts, owner.id):
        return None
    return "`self`"


def _is_plain(facts: FileFacts, id: str) -> bool:
    """Whether a class derives from nothing, and no decorator makes a pytree of it."""
    found = facts.program.class_(id)
    if found is None or found.data["d"] or facts.program.module_kind(id) is not None:
        return False
    return all(each in facts.program.class_data or each in _PLAIN for each in facts.program.lineage(id))


_PLAIN = frozenset({"builtins.object", "abc.ABC", "typing.Protocol", "typing.Generic"})


def _is_module_object(facts: FileFacts, base: Value) -> bool:
    """Whether a value may be a Module, whose attributes a library carries in and out of the trace."""
    kind = facts.type_of(base)
    return kind is None or kind not in facts.program.class_data or not _is_plain(facts, kind)


RULE = SourceRule(
    code="JIT104",
    name="leaked-tracer",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
