"""Parameters that every traced call seen leaves at one constant, and what conditions come to with that.

A traced call that does not give `flag=True` traces the function with True itself: no tracer, and no other value. What
stands behind `if not flag` is then never traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .values.value import Value

VARIES: Any = object()
"""In place of the constant: calls give several, or what is no constant."""
UNDECIDED: Any = object()
Lookup = Callable[[Value], Any]
"""The constant that a parameter's value has, or `UNDECIDED`."""
_SCALARS = (bool, int, float, str, type(None))
_DEEPEST = 8


def scalar(constant: Any) -> Any:
    """The constant if it is one that conditions are made of, else VARIES."""
    return constant if type(constant) in _SCALARS else VARIES


def met(old: Any, new: Any) -> Any:
    """What a parameter is that was `old` in some calls and is `new` in another."""
    return old if old is not VARIES and type(old) is type(new) and old == new else VARIES


def constant(value: Value, lookup: Lookup, depth: int = 0) -> Any:
    """The constant that a condition, or a part of one, comes to; UNDECIDED where that is not known."""
    op = value.op
    if depth > _DEEPEST:
        return UNDECIDED
    if op == "const":
        return value.data
    if op == "param":
        return lookup(value)
    if op == "unary" and value.data == "Not":
        asked = constant(value.args[0], lookup, depth + 1)
        return UNDECIDED if asked is UNDECIDED else not asked
    if op == "bool":
        return _joined(value.data == "And", [constant(each, lookup, depth + 1) for each in value.args])
    if op == "compare" and len(value.data) == 1 and value.data[0] in _COMPARED:
        left, right = (constant(each, lookup, depth + 1) for each in value.args)
        return UNDECIDED if left is UNDECIDED or right is UNDECIDED else _COMPARED[value.data[0]](left, right)
    return UNDECIDED


def _joined(is_and: bool, operands: list[Any]) -> Any:
    """`a and b`, or `a or b`: one operand may decide whatever the others are."""
    if any(each is not UNDECIDED and bool(each) is not is_and for each in operands):
        return not is_and
    return UNDECIDED if any(each is UNDECIDED for each in operands) else is_and


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "Is": lambda left, right: left is right or (type(left) is type(right) and left == right),
    "IsNot": lambda left, right: not (left is right or (type(left) is type(right) and left == right)),
    "Eq": lambda left, right: left == right,
    "NotEq": lambda left, right: left != right,
}


def is_dead(guards: Iterable[tuple[Value, str]], lookup: Lookup) -> bool:
    """Whether a condition round some code is not what lets it run."""
    for guard, arm in guards:
        if arm in ("then", "else"):
            found = constant(guard, lookup)
            if found is not UNDECIDED and bool(found) is not (arm == "then"):
                return True
    return False


def asked_parameters(guard: Value) -> list[Value]:
    """The parameters that may decide a condition."""
    asked: list[Value] = []

    def lookup(value: Value) -> Any:
        asked.append(value)
        return UNDECIDED

    constant(guard, lookup)
    return asked
