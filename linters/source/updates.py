"""What a compiled step gives back: new versions of its arguments, scalars, or something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .apis import result_of
from .jit_options import HIDDEN
from .jits import Jit
from .records import Function
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_APPLY = frozenset({"optax.apply_updates", "equinox.apply_updates"})
_GRADIENTS = frozenset(
    {
        "jax.grad", "jax.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad", "flax.nnx.grad",
        "flax.nnx.value_and_grad", "jax.vjp", "jax.jacrev", "jax.jacfwd",
    }
)  # fmt: skip
_WITH_VALUE = frozenset({"jax.value_and_grad", "equinox.filter_value_and_grad", "flax.nnx.value_and_grad"})
_REDUCES = frozenset({"mean", "sum", "max", "min", "prod", "std", "var", "all", "any", "nanmean", "nansum"})
_SCALARS = frozenset(
    {"optax.global_norm", "jax.numpy.linalg.norm", "optax.tree_utils.tree_l2_norm", "jax.numpy.float32"}
)
_ACROSS = frozenset({"jax.lax.pmean", "jax.lax.psum", "jax.lax.pmax", "jax.lax.pmin"})
DEEPEST = 8


def outputs(facts: FileFacts, jit: Jit) -> Iterator[Value]:
    """The leaves of what a compiled function returns; nothing where that is not known."""
    function = _live(facts, jit)
    if function is not None:
        if function.is_generator:
            return
        values = [each.value for each in function.returns if each.kind == "return"]
    else:
        summary = facts.program.function(jit.callee.function.id) if jit.callee.function is not None else None
        frozen = summary.data.get("r") if summary is not None else None
        values = [facts.program.thaw(frozen, summary)] if frozen else []
    for value in values:
        yield from parts(value)


def _live(facts: FileFacts, jit: Jit) -> Function | None:
    id = jit.callee.function.id if jit.callee.function is not None else None
    return next((each for each in facts.functions if each.id == id), None)


def parts(value: Value, depth: int = 0) -> Iterator[Value]:
    """The leaves of tuples, lists and dictionaries in sight, on all paths."""
    if value.op in ("tuple", "list", "dict", "phi") and depth < DEEPEST:
        for each in value.args:
            yield from parts(each, depth + 1)
    elif value.op == "updated" and depth < DEEPEST:
        yield from parts(value.args[0], depth + 1)
        yield from parts(value.args[1], depth + 1)
    else:
        yield value


def updated(facts: FileFacts, value: Value, depth: int = 0) -> str | None:
    """The name of the parameter of which a value is the next version, made with gradients or an optimizer.

    Arithmetic on one array (`w - rate * gradient`) does not count: a state worth donating is a tree.
    """
    if depth > DEEPEST:
        return None
    op = value.op
    if op == "call":
        call = value.data
        name = facts.callee(call).name
        if name in _APPLY and call.args:
            return _root(facts, call.args[0], depth)
        if name is not None and name.endswith(".apply_gradients") and call.func.op == "attr":
            return _root(facts, call.func.args[0], depth)
        if name is not None and result_of(name) == "mapped" and len(call.args) > 2:
            return _moved(facts, call.args[1:], depth)
        if call.func.op == "attr" and call.func.data == "replace":
            changed = [updated(facts, each, depth + 1) for each in call.keywords.values()]
            return _root(facts, call.func.args[0], depth) if any(changed) else None
        if facts.callee(call).cls is not None:
            # A state of several parts is made anew: TrainState(params, opt_state).
            changed = (updated(facts, each, depth + 1) for each in (*call.args, *call.keywords.values()))
            return next((each for each in changed if each is not None), None)
        made = facts.returned(value)
        return updated(facts, made, depth + 1) if made is not None else None
    if op == "item":
        base = value.args[0]
        if base.op == "call":
            func = base.data.func
            if func.op == "attr" and func.data == "update" and len(base.data.args) > 1:
                at = value.args[1].data if value.args[1].op == "const" else None
                return _root(facts, base.data.args[1], depth) if at == 1 else None
            part = facts.program.item_of(value)
            return updated(facts, part, depth + 1) if part is not None else None
    return None


def _moved(facts: FileFacts, args: tuple[Value, ...] | list[Value], depth: int) -> str | None:
    """`tree.map(lambda p, g: p - rate * g, params, gradients)`."""
    if any(from_gradient(facts, each) for each in args[1:]):
        return _root(facts, args[0], depth)
    return None


def _root(facts: FileFacts, value: Value, depth: int) -> str | None:
    """The parameter that a value is, or is a part of, or is a version of already."""
    while value.op in ("attr", "item"):
        value = value.args[0]
    if value.op == "param":
        return value.data.name
    return updated(facts, value, depth + 1)


def from_gradient(facts: FileFacts, value: Value, depth: int = 0) -> bool:
    """Whether a gradient goes into a value."""
    if depth > DEEPEST:
        return False
    if value.op == "call":
        call = value.data
        if any(each.name in _GRADIENTS for each in facts.callee(call).wraps):
            return True
        return any(from_gradient(facts, each, depth + 1) for each in call.args)
    if value.op in ("item", "attr", "bin", "unary", "tuple", "phi"):
        return any(from_gradient(facts, each, depth + 1) for each in value.args)
    return False


def is_scalar(facts: FileFacts, value: Value, depth: int = 0) -> bool:
    """Whether a value is surely one number."""
    if depth > DEEPEST:
        return False
    op = value.op
    if op == "const":
        return True
    if op in ("bin", "unary", "phi", "compare"):
        return all(is_scalar(facts, each, depth + 1) for each in value.args)
    if op == "item":
        base = value.args[0]
        first = value.args[1].op == "const" and value.args[1].data == 0
        wraps = facts.callee(base.data).wraps if base.op == "call" else ()
        if not first or not wraps or {"has_aux", HIDDEN} & wraps[0].options.keys():
            return False
        return wraps[0].name in _WITH_VALUE
    if op != "call":
        return False
    call = value.data
    if call.func.op == "attr":
        if call.func.data == "astype":
            return is_scalar(facts, call.func.args[0], depth + 1)
        if call.func.data in _REDUCES and not call.args and not call.keywords:
            return True
    callee = facts.callee(call)
    name = callee.name if not callee.wraps else None
    if name in _ACROSS and call.args:
        return is_scalar(facts, call.args[0], depth + 1)
    if name in _SCALARS:
        return len(call.args) == 1 and not call.keywords
    prefix, _, last = (name or "").rpartition(".")
    if prefix == "jax.numpy" and last in _REDUCES:
        return len(call.args) == 1 and not call.keywords.keys() & {"axis", "keepdims"}
    if callee.function is not None and not callee.wraps:
        made = facts.returned(value)
        return made is not None and is_scalar(facts, made, depth + 1)
    return False


def donation_options(jit: Jit) -> list[str]:
    """The options of a transform that donate, or may do so."""
    return [name for name in jit.wrapped.options if name == HIDDEN or name.startswith("donate")]
