"""What an optax optimizer is made of, as far as the source shows: chains, wrappers, factories, fields of objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .records import Call
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_CHAINS = frozenset({"optax.chain", "optax.named_chain", "optax.transforms.chain"})
_WRAPPERS = frozenset({
    "optax.MultiSteps", "optax.apply_if_finite", "optax.masked", "optax.lookahead", "optax.with_extra_args_support",
    "optax.apply_every", "optax.conditionally_mask", "optax.conditionally_transform", "optax.flatten",
})  # fmt: skip
_INJECTIONS = frozenset({"optax.inject_hyperparams", "optax.inject_stateful_hyperparams"})
DEEPEST = 8


def made_of(facts: FileFacts, value: Value, depth: int = DEEPEST) -> Iterator[tuple[str, Call]]:
    """The optax transformations that an optimizer surely applies, in order: dotted name and the call that makes each.

    A wrapper comes before what it wraps. Nothing comes where the optimizer is not known, as for a parameter.
    """
    value = origin(facts, value, depth)
    if depth == 0 or value.op != "call":
        return
    call: Call = value.data
    callee = facts.callee(call)
    name = callee.name
    if name is not None and name.startswith("optax.") and not callee.wraps:
        yield name, call
        if name in _CHAINS:
            for each in sequence(facts, [*callee.bound, *call.args]):
                yield from made_of(facts, each, depth - 1)
        elif name in _WRAPPERS and (call.args or "opt" in call.keywords or "inner" in call.keywords):
            inner = call.argument(0, "opt") or call.argument(0, "inner")
            if inner is not None:
                yield from made_of(facts, inner, depth - 1)
    elif call.func.op == "call" and facts.callee(call.func.data).name in _INJECTIONS:
        inner = call.func.data.argument(0, "inner_factory")
        made = facts.callee(inner) if inner is not None else None
        if made is not None and made.name is not None and made.name.startswith("optax."):
            yield made.name, call


def origin(facts: FileFacts, value: Value, depth: int = DEEPEST) -> Value:
    """The call that made a value: through names of other files, factories of the project and fields of objects."""
    for _ in range(depth):
        found: Value | None = None
        if value.op == "name":
            found = facts.program.resolve(value.data)
        elif value.op == "call":
            found = facts.returned(value)
        elif value.op == "attr":
            owner = facts.type_of(value.args[0])
            if owner is not None and owner in facts.program.class_data:
                found = facts.program.instance_member(owner, value.data)
        elif value.op == "item":
            found = facts.program.item_of(value)
        if found is None or found.op == "unknown":
            return value
        value = found
    return value


def sequence(facts: FileFacts, values: list[Value]) -> list[Value]:
    """Arguments with the starred ones taken apart, where their lists are in sight: literals, appends, sums of lists."""
    found: list[Value] = []
    for each in values:
        found += _listed(facts, each.args[0]) if each.op == "star" else [each]
    return found


def _listed(facts: FileFacts, value: Value, depth: int = 8) -> list[Value]:
    if depth == 0:
        return []
    if value.op in ("list", "tuple"):
        return sequence(facts, list(value.args))
    if value.op == "updated" and value.data in ("method append", "method extend"):
        rest = [value.args[1]] if value.data == "method append" else _listed(facts, value.args[1], depth - 1)
        return _listed(facts, value.args[0], depth - 1) + rest
    if value.op == "bin" and value.data == "Add":
        return _listed(facts, value.args[0], depth - 1) + _listed(facts, value.args[1], depth - 1)
    if value.op == "phi":  # some are only there under a condition: the longest list has them all
        return max((_listed(facts, each, depth - 1) for each in value.args), key=len)
    return []
