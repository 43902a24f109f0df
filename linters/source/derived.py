"""What surely carries a derivative: an argument that is differentiated, and what smooth operations make of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import TRACERS
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_DEEPEST = 8
_SMOOTH_OPERATORS = frozenset({"Add", "Sub", "Mult", "Div", "Pow", "MatMult"})
_SMOOTH = frozenset(
    {
        "abs", "absolute", "add", "cos", "cumsum", "divide", "dot", "einsum", "exp", "log", "log1p", "logaddexp",
        "matmul", "max", "maximum", "mean", "min", "minimum", "multiply", "negative", "norm", "power", "prod", "ravel",
        "reshape", "sin", "softmax", "sqrt", "square", "squeeze", "std", "subtract", "sum", "tanh", "transpose",
        "tensordot", "var", "vdot",
    }
)  # fmt: skip
_OF_ARRAYS = ("jax.numpy.", "jax.nn.")


def is_derived(facts: FileFacts, value: Value, depth: int = 0) -> bool:
    """Whether a value, in a function under a derivative, depends on what is differentiated: comparisons, integers and
    what `stop_gradient` gives do not.
    """
    op = value.op
    if depth > _DEEPEST or facts.kind(value) not in TRACERS:
        return False
    if op == "param":
        return True
    if op in ("item", "attr", "element") or (op == "unary" and value.data in ("USub", "UAdd")):
        return is_derived(facts, value.args[0], depth + 1)
    if op == "bin" and value.data in _SMOOTH_OPERATORS:
        return any(is_derived(facts, each, depth + 1) for each in value.args)
    if op == "call":
        callee = facts.callee(value.data)
        name = callee.name or ""
        if callee.wraps or name.rpartition(".")[2] not in _SMOOTH:
            return False
        if name.startswith(_OF_ARRAYS):
            return any(is_derived(facts, each, depth + 1) for each in value.data.args)
        func = value.data.func
        return name[0] == "." and func.op == "attr" and is_derived(facts, func.args[0], depth + 1)
    return False
