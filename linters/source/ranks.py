"""How many dimensions an array has, where its shape is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_SHAPED = {
    **dict.fromkeys((f"jax.numpy.{name}" for name in ("zeros", "ones", "empty", "full")), 0),
    **dict.fromkeys((f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")), 0),
    **dict.fromkeys(("jax.numpy.reshape", "numpy.reshape", "jax.numpy.broadcast_to"), 1),
    **dict.fromkeys(("jax.random.normal", "jax.random.uniform"), 1),
    "jax.ShapeDtypeStruct": 0,
}  # fmt: skip
_RANKS = {"jax.numpy.arange": 1, "jax.numpy.linspace": 1, "jax.numpy.eye": 2, "numpy.arange": 1, "numpy.eye": 2}
_KEEP = frozenset(
    f"jax.numpy.{name}"
    for name in ("zeros_like", "ones_like", "exp", "sin", "cos", "tanh", "abs", "sqrt", "log", "square")
)
_SAME = frozenset({"jax.device_put", "jax.lax.with_sharding_constraint", "jax.block_until_ready", "jax.numpy.asarray"})
DEEPEST = 6


def rank(facts: FileFacts, value: Value | None, depth: int = 0) -> int | None:
    """The number of dimensions; None where it is not known."""
    if value is None or depth > DEEPEST:
        return None
    op = value.op
    if op == "call":
        return _made(facts, value, depth)
    if op in ("bin", "unary"):
        ranks = [0 if each.op == "const" else rank(facts, each, depth + 1) for each in value.args]
        if value.data == "MatMult" or None in ranks:
            return None
        return max(each for each in ranks if each is not None)
    if op == "phi":
        ranks = [rank(facts, each, depth + 1) for each in value.args]
        return ranks[0] if ranks and all(each == ranks[0] for each in ranks) else None
    if op == "attr" and value.data in ("T", "mT"):
        return rank(facts, value.args[0], depth + 1)
    return None


def _made(facts: FileFacts, value: Value, depth: int) -> int | None:
    call = value.data
    callee = facts.callee(call)
    name = callee.name if not callee.wraps and not callee.bound else None
    if name in _RANKS:
        return _RANKS[name]
    if name in _SHAPED:
        return _length(call.argument(_SHAPED[name], "newshape" if "reshape" in name else "shape"))
    if (name in _KEEP or name in _SAME) and call.args:
        return rank(facts, call.args[0], depth + 1)
    if call.func.op == "attr":
        if call.func.data == "reshape" and call.args and not call.keywords:
            if len(call.args) == 1:
                return _length(call.args[0])
            return None if any(each.op == "star" for each in call.args) else len(call.args)
        if call.func.data == "astype":
            return rank(facts, call.func.args[0], depth + 1)
    if callee.function is not None and not callee.wraps:
        made = facts.returned(value)
        return rank(facts, made, depth + 1) if made is not None else None
    return None


def _length(shape: Value | None) -> int | None:
    if shape is None:
        return None
    if shape.op in ("tuple", "list"):
        return None if any(each.op == "star" for each in shape.args) else len(shape.args)
    return 1 if shape.op == "const" and type(shape.data) is int else None
