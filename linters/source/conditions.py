"""What a condition over arrays leaves out: the relation to a bound that the elements of its other arm may stand in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .facts import FileFacts
from .formulas import applied, followed, number, unshaped
from .values.value import Value

_COMPARISONS = {
    "greater": "Gt", "greater_equal": "GtE", "less": "Lt", "less_equal": "LtE", "equal": "Eq", "not_equal": "NotEq",
    "gt": "Gt", "ge": "GtE", "lt": "Lt", "le": "LtE", "eq": "Eq", "ne": "NotEq",
}  # fmt: skip
_TURNED = {"Gt": "Lt", "GtE": "LtE", "Lt": "Gt", "LtE": "GtE", "Eq": "Eq", "NotEq": "NotEq"}
_OPPOSITE = {"Gt": "LtE", "GtE": "Lt", "Lt": "GtE", "LtE": "Gt", "Eq": "NotEq", "NotEq": "Eq"}


class Excluded(NamedTuple):
    """The arm is not taken where `value` (its `magnitude`, if that is set) stands in this relation to the bound."""

    value: Value
    relation: str
    bound: float
    magnitude: bool

    def holds(self, point: float, negated: bool) -> bool:
        point = -point if negated else point
        if self.magnitude:
            point = abs(point)
        return {
            "Gt": point > self.bound,
            "GtE": point >= self.bound,
            "Lt": point < self.bound,
            "LtE": point <= self.bound,
            "Eq": point == self.bound,
            "NotEq": point != self.bound,
        }[self.relation]


def excluded(facts: FileFacts, condition: Value, negated: bool, depth: int = 4) -> Iterator[Excluded]:
    """What is known where a condition does not hold (or holds, if `negated`): any of these may be so there."""
    condition = followed(facts, unshaped(facts, condition))
    if depth == 0:
        return
    if condition.op == "unary" and condition.data in ("Invert", "Not"):
        yield from excluded(facts, condition.args[0], not negated, depth - 1)
        return
    both = condition.op == "bin" and condition.data in ("BitAnd", "BitOr")
    made = applied(facts, condition)
    if both or (made is not None and made.name in ("logical_and", "logical_or", "bitwise_and", "bitwise_or")):
        is_and = condition.data == "BitAnd" if both else bool(made and made.name.endswith("and"))
        if is_and != negated:  # not (a and b): either may fail; a or b: either may hold
            parts = condition.args if both or made is None else made.args[:2]
            for part in parts:
                yield from excluded(facts, part, negated, depth - 1)
        return
    if made is not None and made.name == "logical_not":
        yield from excluded(facts, made.args[0], not negated, depth - 1)
        return
    if condition.op == "compare" and len(condition.data) == 1:
        relation, left, right = condition.data[0], *condition.args
    elif made is not None and made.name in _COMPARISONS and len(made.args) == 2:
        relation, left, right = _COMPARISONS[made.name], *made.args
    elif made is not None and made.name in ("isclose", "close_l", "allclose") and len(made.args) >= 2:
        if negated and number(facts, made.args[1]) is not None:
            yield Excluded(made.args[0], "Eq", number(facts, made.args[1]) or 0.0, False)
        return
    else:
        return
    if relation not in _TURNED:
        return
    bound = _bound(facts, right)
    if bound is None:
        left, right, relation = right, left, _TURNED[relation]
        bound = _bound(facts, right)
        if bound is None:
            return
    core = applied(facts, unshaped(facts, left))
    if not negated:
        relation = _OPPOSITE[relation]
    if relation == "NotEq":
        return
    yield Excluded(left, relation, bound, core is not None and core.name in ("abs", "absolute", "square"))


def _bound(facts: FileFacts, value: Value) -> float | None:
    """The number that something is compared with; a limit of unknown size counts as a small positive one."""
    found = number(facts, value)
    if found is not None:
        return found
    value = unshaped(facts, value)
    made = applied(facts, value)
    if made is not None and made.name == "zeros_like":
        return 0.0
    found = number(facts, value)
    if found is None and value.op == "attr" and value.data in ("eps", "tiny", "smallest_normal"):
        return 1e-12
    return found
