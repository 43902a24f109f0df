"""Masks and the means taken over what they keep, however they are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .formulas import alike, applied, elements, followed, number, unshaped
from .pattern import Pattern
from .records import Call, Function, Record
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_NAMED = Pattern(r"(^|_)(\w*mask\w*|valid|validity|is_\w+|non_?pad\w*|not_pad\w*|padding|paddings|keep)(_|$)", re.I)
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


def is_called_mask(facts: FileFacts, count: Value, mask: Value) -> bool:
    """Whether what a count is the sum of is written as the name of a mask, `jnp.sum(attn_mask)`, and made of one."""
    if mask.op not in ("phi", "bin", "loop") or not any(is_mask(facts, each) for each in mask.args):
        return False
    node = count.data.node if count.op == "call" else None
    if not isinstance(node, ast.Call):
        return False
    summed = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(summed, ast.Name) and bool(_NAMED.search(summed.id))


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
        # Where two arrays are equal is no choice of elements: the largest of them, right answers.
        return value.data != ("Eq",) or any(facts.constant(each) is not facts.MISSING for each in value.args)
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


def is_masked_mean(facts: FileFacts, value: Value) -> bool:
    """Whether a value is a mean over what a mask keeps, guarded against an empty one or not."""
    value = followed(facts, unshaped(facts, value))
    if value.op == "call":
        mask = masked_mean(facts, value.data)
        if mask is not None:
            return is_mask(facts, mask)
    made = applied(facts, value)
    if made is None or len(made.args) < 2:
        return False
    if made.name in ("add", "subtract", "multiply"):  # with a regulariser, or scaled
        return any(is_masked_mean(facts, each) for each in made.args[:2])
    if made.name not in ("divide", "true_divide"):
        return False
    mask = counted(facts, unguarded(facts, made.args[1]))
    if mask is None:
        return False
    if is_mask(facts, mask):
        return True
    total = applied(facts, followed(facts, unshaped(facts, made.args[0])))
    if total is None or total.name not in ("sum", "nansum") or not total.args:
        return False
    whole = unshaped(facts, total.args[0])
    return any(alike(each, mask) for each in elements(facts, whole) if each is not whole)


def unguarded(facts: FileFacts, value: Value) -> Value:
    """The count under what keeps it away from zero: `jnp.maximum(count, 1)`, `count + 1e-6`."""
    for _ in range(4):
        value = followed(facts, unshaped(facts, value))
        made = applied(facts, value)
        if made is None or made.name not in ("maximum", "clip", "add", "where", "max"):
            return value
        parts = [each for each in made.args[1 if made.name == "where" else 0 :] if number(facts, each) is None]
        counts = [each for each in parts if counted(facts, followed(facts, unshaped(facts, each))) is not None]
        if not counts:
            return value
        value = counts[0]
    return value
