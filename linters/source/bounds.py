"""Between which numbers the elements of an array surely lie, as far as its formula shows it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from .formulas import Applied, alike, applied, followed, number, unshaped
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_DEEPEST = 6
_EPSILON = 0.1
_TINY = 1e-45
_NEVER_NEGATIVE = frozenset(
    {
        "abs",
        "absolute",
        "fabs",
        "square",
        "norm",
        "relu",
        "relu6",
        "sigmoid",
        "softmax",
        "var",
        "std",
        "exp",
        "exp2",
        "softplus",
    }
)
_BETWEEN = frozenset({"mean", "max", "min", "amax", "amin", "median", "sort", "cumsum", "sum"})


class Bounds(NamedTuple):
    """Both are included. What is added to or clipped at something unknown is taken for safe: away from every point."""

    low: float
    high: float

    def holds(self, point: float) -> bool:
        return self.low <= point <= self.high


ANYWHERE = Bounds(-inf, inf)
NOWHERE = Bounds(inf, -inf)
"""Of what was clipped at a bound that the code does not show: it was made safe, and is nowhere that is asked for."""


def may_be(facts: FileFacts, value: Value, point: float) -> bool:
    """Whether an element may be this number."""
    return bounds(facts, value).holds(point)


def bounds(facts: FileFacts, value: Value, depth: int = 0) -> Bounds:
    """The bounds of a value; ANYWHERE where nothing is known."""
    value = unshaped(facts, followed(facts, unshaped(facts, value)))
    known = number(facts, value)
    if known is not None:
        return Bounds(known, known)
    if depth > _DEEPEST:
        return ANYWHERE
    if value.op == "phi":
        return _union([bounds(facts, each, depth + 1) for each in value.args])
    if value.op == "unary" and value.data == "USub":
        found = bounds(facts, value.args[0], depth + 1)
        return NOWHERE if found == NOWHERE else Bounds(-found.high, -found.low)
    made = applied(facts, value)
    return _of(facts, made, depth + 1) if made is not None and made.args else ANYWHERE


def _of(facts: FileFacts, made: Applied, depth: int) -> Bounds:
    name, args = made.name, made.args
    if name == "sqrt":
        found = bounds(facts, args[0], depth)
        return NOWHERE if found == NOWHERE else Bounds(max(found.low, 0.0) ** 0.5, inf)
    if name in _NEVER_NEGATIVE:
        return Bounds(0.0, inf)
    if name in ("power", "float_power") and len(args) == 2 and number(facts, args[1]) in (2, 4):
        return Bounds(0.0, inf)
    if name in ("clip", "clamp"):
        return _clipped(facts, made, depth)
    if name in ("maximum", "minimum") and len(args) == 2:
        return _limited(facts, args, name == "maximum", depth)
    if name == "add" and len(args) == 2:
        return _sum(facts, args, depth)
    if name == "multiply" and len(args) == 2:
        return _product(facts, args[0], args[1], depth)
    if name in ("where", "select") and len(args) == 3:
        return _chosen(facts, args[1:], depth)
    if name in _BETWEEN:
        found = bounds(facts, made.args[0], depth)
        if name not in ("sum", "cumsum") or found == NOWHERE:
            return found
        return Bounds(found.low if found.low >= 0 else -inf, inf)
    return ANYWHERE


def _product(facts: FileFacts, left: Value, right: Value, depth: int) -> Bounds:
    low = min(bounds(facts, each, depth).low for each in (left, right))
    if low >= 0:
        return Bounds(_TINY if low > 0 else 0.0, inf)
    return Bounds(0.0, inf) if alike(left, right) else ANYWHERE


def _clipped(facts: FileFacts, made: Applied, depth: int) -> Bounds:
    """What `clip(x, low, high)` gives, in all its spellings; `lax.clamp` has the array in the middle."""
    if made.name == "clamp":
        array = made.args[min(1, len(made.args) - 1)]
        ends = (made.option(0, "min"), made.option(2, "max"))
    else:
        array = made.args[0]
        low = made.option(1, "min") or made.keywords.get("a_min")
        ends = (low, made.option(2, "max") or made.keywords.get("a_max"))
    found = bounds(facts, array, depth)
    for end, is_low in zip(ends, (True, False), strict=True):
        if end is not None and not (end.op == "const" and end.data is None):
            found = _limit(facts, found, end, is_low)
    return found


def _limited(facts: FileFacts, args: Sequence[Value], is_low: bool, depth: int) -> Bounds:
    first, second = (bounds(facts, each, depth) for each in args)
    if NOWHERE in (first, second) or (
        first.low < first.high and second.low < second.high and any(map(_is_given, args))
    ):
        return NOWHERE  # whichever of the two is the limit, it is not known
    if is_low:
        return Bounds(max(first.low, second.low), max(first.high, second.high))
    return Bounds(min(first.low, second.low), min(first.high, second.high))


def _limit(facts: FileFacts, found: Bounds, end: Value, is_low: bool) -> Bounds:
    known = number(facts, end)
    if known is None or found == NOWHERE:
        return NOWHERE
    if is_low:
        return Bounds(max(found.low, known), max(found.high, known))
    return Bounds(min(found.low, known), min(found.high, known))


def _sum(facts: FileFacts, args: Sequence[Value], depth: int) -> Bounds:
    """A sum. A small positive number is added to keep a value away from zero, whatever that value is."""
    left, right = (bounds(facts, each, depth) for each in args)
    if NOWHERE in (left, right):
        return NOWHERE
    for each, found, other in ((args[0], left, right), (args[1], right, left)):
        small = found.low == found.high and 0 < found.low <= _EPSILON
        if other.low == -inf and (small or (found == ANYWHERE and _is_bound(facts, each))):
            return NOWHERE
    return Bounds(left.low + right.low, left.high + right.high)


def _is_bound(facts: FileFacts, value: Value) -> bool:
    """Whether it is a number of the host that the code does not show: an `eps` that is handed in."""
    value = unshaped(facts, value)
    if value.op == "param" and value.data.default is not None:
        return number(facts, value.data.default) is not None
    return value.op in ("param", "attr", "name") and facts.kind(value) in ("static", "host")


def _is_given(value: Value) -> bool:
    """Whether it comes in from elsewhere as it is."""
    return value.op in ("param", "attr", "name")


def _chosen(facts: FileFacts, arms: Sequence[Value], depth: int) -> Bounds:
    """Of `where(condition, x, 1.0)`: the condition lets those elements of x through that are safe."""
    found = [bounds(facts, each, depth) for each in arms]
    plain = [each for each in found if each.low == each.high]
    if len(plain) == 1 and ANYWHERE in found:
        return plain[0]
    return _union(found)


def _union(found: Sequence[Bounds]) -> Bounds:
    return Bounds(min(each.low for each in found), max(each.high for each in found))
