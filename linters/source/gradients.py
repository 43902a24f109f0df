"""Whether a derivative can pass through code at all: what a rule about gradients has to leave alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .formulas import applied, is_differentiated, unshaped
from .pattern import Pattern
from .records import Call, Function
from .summary import FunctionSummary
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_OWN_RULES = ("custom_vjp", "custom_jvp", "defvjp", "defjvp", "pallas_call", "kernel(", "callback(", "while_loop(")
# A solver with one of these gets its derivative from the equations that its solution holds, not from its steps.
_IMPLICIT = ("implicit_diff", "implicit_adjoint", "custom_root", "custom_fixed_point", "custom_linear_solve")
_AFTERWARDS = Pattern(
    r"(^|_)(grads?|gradients?|updates?|mu|nu|momentum|optimizer|accuracy|metrics?|eval\w*)(_|$)", re.I
)
_WHOLE = frozenset({
    "arange", "iota", "broadcasted_iota", "argmax", "argmin", "argsort", "count_nonzero", "size", "floor_divide",
    "floor", "ceil", "round", "sign", "isnan", "isfinite", "greater", "less", "equal", "not_equal", "greater_equal",
    "less_equal", "randint", "bincount", "one_hot", "logical_and", "logical_or", "logical_not", "searchsorted",
    "nonzero", "digitize", "stop_gradient",
})  # fmt: skip
_REDUCES = frozenset({"sum", "cumsum", "prod", "max", "min", "any", "all", "psum", "roll", "take", "abs"})
_SAME = _REDUCES | {"maximum", "minimum", "add", "multiply", "subtract", "clip", "where", "concatenate", "stack"}


def has_no_gradient(facts: FileFacts, function: Function) -> bool:
    """Whether JAX takes no derivative through a function.

    It has rules of its own, or handles gradients itself, or is a step of a solver that is differentiated implicitly.
    """
    if any(mark in facts.source.text for mark in _IMPLICIT) and not is_differentiated(facts, function):
        return True
    for each in function.chain():
        if each.is_module:
            return each is function
        if _AFTERWARDS.search(each.name) or any(parameter.name.endswith("_ref") for parameter in each.parameters):
            return True
        if any(_AFTERWARDS.search(parameter.name) for parameter in each.parameters):
            return True
        if any("custom_" in (facts.callee(value).name or "") for value in each.decorators):
            return True
        traced = facts.traced(each)
        if traced is not None and any(mark in str(why) for why in traced.chain for mark in _OWN_RULES):
            return True
    return False


def is_whole(facts: FileFacts, value: Value, depth: int = 6) -> bool:
    """Whether a value is made of whole numbers or truths, which have no gradient: counts, indices, comparisons."""
    value = unshaped(facts, value)
    if depth == 0:
        return False
    if value.op == "compare" or (value.op == "unary" and value.data in ("Not", "Invert")):
        return True
    if value.op == "const":
        return isinstance(value.data, (int, bool))
    if value.op == "bin" and value.data in ("FloorDiv", "Mod", "BitAnd", "BitOr", "LShift", "RShift"):
        return True
    if value.op in ("phi", "loop"):
        return all(is_whole(facts, each, depth - 1) for each in value.args[:4])
    if facts.kind(value) == "static":
        return True
    made = applied(facts, value)
    if made is None:
        returned = facts.returned(value) if value.op == "call" else None
        return returned is not None and is_whole(facts, returned, depth - 1)
    if made.name in _WHOLE:
        return True
    return made.name in _SAME and all(
        is_whole(facts, each, depth - 1)
        for each in made.args[: 1 if made.name in ("sum", "cumsum", "max", "min", "any", "all") else 3]
    )


_TAKERS = ("grad", "value_and_grad", "filter_grad", "filter_value_and_grad", "jacrev", "vjp")


def objective(facts: FileFacts, value: Value) -> Value | None:
    """What a function returns of which a call gives the gradient: `jax.value_and_grad(loss_fn)(params, batch)`.

    Of several returned values it is the first, the loss. Parameters in it are those of the function.
    """
    if value.op != "call":
        return None
    call: Call = value.data
    callee = facts.callee(call)
    function = callee.function
    if function is None or not any(wrap.name.rpartition(".")[2] in _TAKERS for wrap in callee.wraps):
        return None
    program = facts.program
    summary = function if isinstance(function, FunctionSummary) else program.function(function.id)
    if summary is None or not summary.data.get("r"):
        return None
    made = program.thaw(summary.data["r"], call.function, None, 1, function.id)
    for _ in range(3):
        if made.op in ("tuple", "list") and made.args:
            made = made.args[0]
        returned = facts.returned(made)
        if returned is None:
            return made
        made = returned
    return made
