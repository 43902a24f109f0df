"""Masks and the means taken over what they keep, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .formulas import applied, unshaped
from .records import Call, Function, Record
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_NAMED = re.compile(r"(^|_)(\w*mask\w*|valid|validity|is_\w+|non_?pad\w*|not_pad\w*|padding|paddings|keep)(_|$)", re.I)
_TRUTHS = frozenset({
    "isnan", "isfinite", "isinf", "logical_not", "logical_and", "logical_or", "greater", "less", "equal", "not_equal",
    "greater_equal", "less_equal", "isin", "bitwise_and", "bitwise_or", "tril", "triu",
})  # fmt: skip


def ratios(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, Value]]:
    """All divisions in a function: the record, what is divided, by what."""
    for record in function.arithmetic:
        if record.value.op == "bin" and record.value.data == "Div":
            yield record, record.value.args[0], record.value.args[1]
    for call in function.calls:
        made = applied(facts, call.result)
        if made is not None and made.name in ("divide", "true_divide") and len(made.args) == 2:
            yield call, made.args[0], made.args[1]


def counted(facts: FileFacts, value: Value) -> Value | None:
    """The array that this is the sum, or the number of nonzero elements, of; without casts and new axes."""
    made = applied(facts, value)
    if made is None or not made.args or made.name not in ("sum", "count_nonzero", "nansum"):
        return None
    return unshaped(facts, made.args[0])


def masked_mean(facts: FileFacts, call: Call) -> Value | None:
    """The mask of `jnp.mean(x, where=mask)`, `x.mean(where=mask)` and `jnp.average(x, weights=mask)`."""
    name = facts.callee(call).name or ""
    last = name.rpartition(".")[2]
    given = call.keywords.get({"mean": "where", "var": "where", "std": "where", "average": "weights"}.get(last, ""))
    if given is None or not (name.startswith("jax.numpy.") or facts.is_tracer(call.result)):
        return None
    return unshaped(facts, given)


def is_mask(facts: FileFacts, value: Value, depth: int = 4) -> bool:
    """Whether a value is zeros and ones that choose: made by a comparison, or called a mask."""
    value = unshaped(facts, value)
    if value.op == "compare":
        return not any(_is_extreme(facts, each) for each in value.args)
    if value.op == "unary" and value.data == "Invert":
        return True
    if value.op == "param":
        return bool(_NAMED.search(value.data.name))
    if value.op == "attr":
        return bool(_NAMED.search(value.data))
    if value.op == "item" and value.args[1].op == "const":
        key = value.args[1].data
        return isinstance(key, str) and bool(_NAMED.search(key))
    if depth == 0:
        return False
    if value.op == "phi":
        return all(is_mask(facts, each, depth - 1) for each in value.args)
    if value.op == "bin":
        parts = [is_mask(facts, each, depth - 1) for each in value.args]
        return all(parts) if value.data in ("BitAnd", "BitOr", "Mult") else value.data == "Sub" and parts[1]
    made = applied(facts, value)
    if made is not None:
        if made.name == "where" and len(made.args) == 3:
            arms = [each.data for each in made.args[1:] if each.op == "const"]
            return len(arms) == 2 and 0 in arms
        return made.name in _TRUTHS
    returned = facts.returned(value) if value.op == "call" else None
    return returned is not None and is_mask(facts, returned, depth - 1)


def _is_extreme(facts: FileFacts, value: Value) -> bool:
    """Whether a value is the largest or smallest of others: what equals it is never nothing."""
    made = applied(facts, value)
    return made is not None and made.name in ("max", "min", "amax", "amin")
