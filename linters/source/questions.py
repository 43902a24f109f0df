"""Where Python asks for the truth of a value: conditions, and functions that compare or choose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .records import Call, Function, Record
from .values.value import NONE, Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_PARTS = {"if": "test", "while": "test", "assert": "test", "ternary": "test", "not": "operand"}
_SHOWN = {
    "ternary": "a conditional expression",
    "filter": "a comprehension's `if`",
    "case": "a case's guard",
    "match": "a case of match",
    "chain": "a chain of comparisons",
}
_MEMBERSHIP = frozenset({"In", "NotIn"})
_ORDERS = frozenset({"min", "max", "sorted"})


class Question(NamedTuple):
    """`value` is what is asked, `written` the code of it, `how` says by what. `record` tells where it stands.

    It is `sure` where nothing is asked only for want of elements.
    """

    record: Record
    value: Value
    written: ast.expr
    how: str
    sure: bool = True

    def left(self) -> tuple[Value, list[Value]]:
        """What nothing else has asked yet, the last operand of `and` and `or`, and the operands before it."""
        before: list[Value] = []
        value = self.value
        while value.op == "bool":
            before += value.args[:-1]
            value = value.args[-1]
        return value, before


def questions(facts: FileFacts, function: Function) -> Iterator[Question]:
    """The questions that a function asks. Operands of `and`, `or` and `not` each have one of their own."""
    for branch in function.branches:
        if branch.value is not None:
            part = _PARTS.get(branch.kind)
            written: Any = getattr(branch.node, part) if part else branch.node
            yield Question(branch, branch.value, _last(written), _SHOWN.get(branch.kind, branch.kind))
    for call in function.calls:
        name = dotted(call.func) or ""
        if name.startswith("builtins.") and call.args and call.decorates is None:
            asked = _called(facts, call, name.removeprefix("builtins."))
            if asked is not None:
                value, written, sure = asked
                yield Question(call, value, _last(written), f"{name.removeprefix('builtins.')}()", sure)
    for each in function.arithmetic:
        if each.value.op == "compare" and not _MEMBERSHIP.isdisjoint(each.value.data):
            searched = _searched(facts, each.value)
            if searched is not None:
                yield Question(each, searched, cast("ast.expr", each.node), "in")


def _searched(facts: FileFacts, compared: Value) -> Value | None:
    """What `x in (1, 2)` asks first of which the answer is an array: `x == 1`, if these are not one object."""
    for operator, left, right in zip(compared.data, compared.args, compared.args[1:], strict=False):
        if operator not in _MEMBERSHIP:
            continue
        elements = right.args if right.op in ("tuple", "list", "set") else ()
        if facts.kind(right) == "array":
            elements = (right,)
        for each in elements:
            if each is left:
                break  # found without a question
            if all(facts.is_tracer(part) or _is_number(part) for part in (left, each)):
                asked = Value("compare", compared.node, (left, each), ("Eq",))
                if facts.kind(asked) == "array":
                    return asked
    return None


def _last(written: ast.expr) -> ast.expr:
    while isinstance(written, ast.BoolOp):
        written = written.values[-1]
    return written


def _called(facts: FileFacts, call: Call, name: str) -> tuple[Value, ast.expr, bool] | None:
    """What a builtin function asks the truth of, how it is written, and whether it surely does."""
    given, written = call.args, call.node.args  # type: ignore[attr-defined]
    if name == "bool" and len(given) == 1:
        return given[0], written[0], True
    if name in ("any", "all") and len(given) == 1:
        each = _element(facts, given[0])
        return (each, written[0], True) if each is not None else None
    if name == "filter" and len(given) == 2 and given[0].op == "function":
        answers = [each.value for each in given[0].data.returns if each.kind != "end"]
        return (answers[0], written[0], True) if len(answers) == 1 else None
    key = call.keywords.get("key", NONE)
    if name not in _ORDERS or key.op != "const" or key.data is not None:
        return None
    if len(given) > 1 and name != "sorted":
        asked = [(arg, node, True) for arg, node in zip(given, written, strict=True) if facts.kind(arg) == "array"]
        if not asked and all(facts.is_tracer(arg) or _is_number(arg) for arg in given):
            asked = [(Value("compare", call.node, tuple(given[:2]), ("Gt",)), cast("ast.expr", call.node), True)]
        return asked[0] if asked else None
    each = _element(facts, given[0])
    several = given[0].op in ("list", "tuple") and len(given[0].args) > 1
    return (each, written[0], several) if each is not None and (several or given[0].op == "comp") else None


def _is_number(value: Value) -> bool:
    return value.op == "const" and type(value.data) in (int, float)


def _element(facts: FileFacts, iterable: Value) -> Value | None:
    """An element that is surely a tracer, of an array or of what holds only such; None where none is seen."""
    if facts.kind(iterable) == "array":
        return iterable
    if iterable.op == "comp":
        return iterable.args[0]
    if iterable.op in ("list", "tuple") and all(facts.kind(each) == "array" for each in iterable.args):
        return next(iter(iterable.args), None)
    return None
