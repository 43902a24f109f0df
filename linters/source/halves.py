"""Which arrays surely are in half precision (bfloat16 or float16), as far as the source shows a cast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .formulas import applied
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_HALVES = frozenset({
    "bfloat16", "float16", "half", "jax.numpy.bfloat16", "jax.numpy.float16", "numpy.float16", "numpy.half",
    "ml_dtypes.bfloat16", "jax.dtypes.bfloat16", "bf16", "f16",
})  # fmt: skip
_POSITIONS = {
    "astype": 1, "asarray": 1, "array": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "zeros_like": 1,
    "ones_like": 1, "full_like": 2, "convert_element_type": 1, "view": 1,
}  # fmt: skip
_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "asarray", "array"})
# Elementwise functions and moves, which give the type that they are given.
_KEEP = frozenset({
    "reshape", "squeeze", "expand_dims", "broadcast_to", "ravel", "flatten", "transpose", "swapaxes", "moveaxis",
    "exp", "tanh", "relu", "gelu", "silu", "swish", "sigmoid", "softmax", "log_softmax", "sin", "cos", "log", "sqrt",
    "rsqrt", "square", "abs", "negative", "stop_gradient", "flip", "roll", "sum", "mean", "max", "min", "take",
    "take_along_axis", "tile", "repeat", "with_sharding_constraint", "cumsum", "logsumexp", "var", "std", "pad", "copy",
})  # fmt: skip
_MEET = frozenset({
    "matmul", "dot", "dot_general", "einsum", "concatenate", "stack", "maximum", "minimum", "where", "add", "subtract",
    "multiply", "divide", "clip", "tensordot", "vdot", "inner", "outer",
})  # fmt: skip


def is_half_type(facts: FileFacts, dtype: Value | None) -> bool:
    """Whether a dtype, written as a name or string, in this file or bound to a name of the project, is a half one."""
    if dtype is None:
        return False
    if dtype.op == "name":
        target = facts.program.resolve(dtype.data)
        dtype = target if target is not None else dtype
    if dtype.op == "call" and (facts.callee(dtype.data).name or "").endswith(".dtype"):
        return is_half_type(facts, dtype.data.argument(0, "dtype"))
    if dtype.op == "const":
        return dtype.data in _HALVES if isinstance(dtype.data, str) else False
    return dotted(dtype) in _HALVES


def is_half(facts: FileFacts, value: Value, depth: int = 8) -> bool:
    """Whether a value is surely an array in half precision: cast in sight, and only combined with its like since."""
    if depth == 0:
        return False
    if value.op in ("item", "unary") or (value.op == "attr" and value.data in ("T", "mT")):
        if value.op == "item":
            part = facts.program.item_of(value)
            if part is not None:
                return is_half(facts, part, depth - 1)
        return is_half(facts, value.args[0], depth - 1)
    if value.op == "phi":
        return all(is_half(facts, each, depth - 1) for each in value.args)
    if value.op == "loop":
        return is_half(facts, value.args[0], depth - 1) and _stays(facts, value)
    if value.op == "bin":
        return _met(facts, list(value.args), depth)
    if value.op != "call":
        return False
    made = applied(facts, value)
    if made is None:
        returned = facts.returned(value)
        return returned is not None and is_half(facts, returned, depth - 1)
    if made.name in ("bfloat16", "float16", "half"):
        return True
    position = _POSITIONS.get(made.name)
    if position is not None:
        if facts.kind(value) == "host":
            return False
        dtype = made.option(position, "dtype") or made.keywords.get("new_dtype")
        if dtype is not None:
            same = dtype.op == "attr" and dtype.data == "dtype"
            return is_half(facts, dtype.args[0], depth - 1) if same else is_half_type(facts, dtype)
        return made.name in _LIKE and bool(made.args) and is_half(facts, made.args[0], depth - 1)
    if "dtype" in made.keywords or "preferred_element_type" in made.keywords or not made.args:
        return False
    if made.name in _KEEP:
        return is_half(facts, made.args[0], depth - 1)
    if made.name in _MEET:
        given = made.args[1:] if made.name in ("where", "einsum") else made.args
        if made.name in ("concatenate", "stack") and given[0].op in ("list", "tuple"):
            given = tuple(given[0].args)
        return _met(facts, list(given), depth)
    return False


def _met(facts: FileFacts, parts: list[Value], depth: int) -> bool:
    """Half with half, or with what has no type of its own: Python's numbers."""
    halves = [is_half(facts, each, depth - 1) for each in parts]
    return any(halves) and all(
        half or (each.op in ("const", "unary") and facts.kind(each) == "static")
        for half, each in zip(halves, parts, strict=True)
    )


def _stays(facts: FileFacts, loop: Value) -> bool:
    """Whether a round gives back the carried value, or arithmetic on it."""
    after = loop.args[1]
    return after is loop or (after.op == "bin" and any(each is loop for each in after.args))
