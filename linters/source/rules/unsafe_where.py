"""A `where` hides a number that is not finite, and the gradient of the hidden arm is nan all the same.

## What it does
Reports `jnp.where` and `lax.select` with an arm that divides, or takes a logarithm, root, norm or inverse sine, exactly
where the condition says that the other arm is to be used: `jnp.where(x > 0, jnp.log(x), 0.0)`. And those that look for
nan afterwards: `jnp.where(jnp.isnan(y), 0.0, y)` with `y = a / b`.

## Why is this bad?
Both arms are computed, and both are differentiated. The arm that is not taken gets a cotangent of zero, and zero times
the infinite slope of `log` or `sqrt` at zero is nan: one such element, and every weight is nan one step later. The
value itself looks right, so nothing shows before the first gradient (https://github.com/jax-ml/jax/issues/1052,
https://github.com/jax-ml/jax/issues/5798; optax mended its own in
https://github.com/google-deepmind/optax/commit/51537b4e).

## Example
    entropy = -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

## Use instead
    safe = jnp.where(p > 0, p, 1.0)
    entropy = -jnp.sum(jnp.where(p > 0, p * jnp.log(safe), 0.0))

For this one there is `jax.scipy.special.entr` as well.

## What stays clean
Arms whose own argument is made safe first (another `where`, `maximum`, `clip`, an epsilon), conditions that have
nothing to do with the argument, arms behind `stop_gradient`, forward and backward passes of custom derivatives,
kernels, loops that have no gradient, steps of solvers that are differentiated implicitly, counts and other whole
numbers, code that handles gradients after they were taken, and arms beside one that is nan or infinite itself.

## References
- https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where
- https://github.com/jax-ml/jax/issues/347
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....contracts.finding import Finding
from ..bounds import may_be
from ..conditions import excluded
from ..facts import FileFacts
from ..formulas import alike, applied, followed, inside, is_differentiated, number, unshaped
from ..gradients import has_no_gradient, is_whole
from ..records import Call
from ..rule import SourceRule
from ..twins.unsafe_where import BAD, GOOD
from ..values.value import Value, dotted

_LOGARITHMS = frozenset({"log", "log2", "log10", "sqrt", "rsqrt"})
# Where each function is not finite or has no finite slope, as points to try.
_BAD: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(_LOGARITHMS, (0.0, -1.0)),
    "divide": (0.0,),
    "true_divide": (0.0,),
    "reciprocal": (0.0,),
    "power": (0.0,),
    "float_power": (0.0,),
    "arccos": (1.0, -1.0),
    "arcsin": (1.0, -1.0),
    "acos": (1.0, -1.0),
    "asin": (1.0, -1.0),
    "arctanh": (1.0, -1.0),
    "atanh": (1.0, -1.0),
    "log1p": (-1.0, -2.0),
}
_WORDS = {
    "divide": "division",
    "true_divide": "division",
    "power": "power",
    "float_power": "power",
    "reciprocal": "reciprocal",
}
_NOT_FINITE = frozenset({"isnan", "isinf"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            arms = _arms(facts, call)
            if arms is None or has_no_gradient(facts, function):
                continue
            condition, taken, other = arms
            sure = is_differentiated(facts, function)
            found = _hidden(facts, condition, taken, other, False) or _hidden(facts, condition, other, taken, True)
            if found is None or is_whole(facts, found.of) or (found.alone and not sure):
                continue
            yield facts.finding(
                RULE,
                call.node,
                f"the {found.what} in one arm is not finite where the other is taken, and its gradient is nan there",
                subject=f"{function.name}: {facts.text(call.node)}",
                because=facts.why(function),
                help="make the argument safe as well: safe = jnp.where(condition, x, 1.0), and use safe in the arm",
                confidence="certain" if sure else "likely",
            )


def _arms(facts: FileFacts, call: Call) -> tuple[Value, Value, Value] | None:
    """The condition of a where, the arm for true, the arm for false."""
    if call.decorates is not None or len(call.args) < 3:
        return None
    made = applied(facts, call.result)
    if made is None or made.name not in ("where", "select") or made.args[0] is not call.args[0]:
        return None
    condition, taken, other = call.args[:3]
    if made.name == "where" and any(each.op == "star" for each in call.args[:3]):
        return None
    return (condition, taken, other) if condition.op not in ("list", "tuple") else None


class Hidden(NamedTuple):
    """A function in an arm that is not finite there, and of what; `alone`: nothing else has a part in it."""

    what: str
    of: Value
    alone: bool


def _hidden(facts: FileFacts, condition: Value, arm: Value, other: Value, negated: bool) -> Hidden | None:
    """What in an arm is not finite where the condition (or its opposite) sends to the other."""
    if arm.op == "const" or _is_endless(facts, other):
        return None
    left_out = list(excluded(facts, condition, negated))
    patched = [] if left_out else list(_patched(facts, condition, negated))
    if not left_out and not patched:
        return None
    if patched:
        return _spoiled(facts, patched, arm)
    for each in inside(facts, arm, lambda value: _is_stopped(facts, value)):
        made = applied(facts, each)
        if made is None or made.name not in _BAD or not made.args:
            continue
        first, at = made.args[0], made.args[0]
        if made.name in ("divide", "true_divide"):
            at = made.args[1] if len(made.args) > 1 else at
        elif made.name in ("power", "float_power"):
            exponent = number(facts, made.args[1]) if len(made.args) > 1 else None
            if exponent is None or exponent >= 1 or exponent == 0:
                continue
        if facts.kind(at) in ("static", "host"):
            continue
        core, sign, even = _core(facts, at)
        for out in left_out:
            tested, turned, _ = _core(facts, out.value)
            if not alike(core, tested):
                continue
            points = (0.0,) if even and made.name in _LOGARITHMS else _BAD[made.name]
            points = [point for point in points if may_be(facts, core, -point if sign else point)]
            if any(out.holds(point, sign != turned) for point in points):
                word = _WORDS.get(made.name, made.name)
                alone = word == "reciprocal" or (word == "division" and facts.kind(first) == "static")
                return Hidden(word, core, alone)
    return None


def _is_endless(facts: FileFacts, value: Value) -> bool:
    """Whether an arm is itself nan or infinite: its gradient is no worse for that."""
    if value.op == "unary":
        value = value.args[0]
    value = unshaped(facts, value)
    return (dotted(value) or "").rpartition(".")[2] in ("nan", "inf", "NINF", "PINF")


def _is_stopped(facts: FileFacts, value: Value) -> bool:
    made = applied(facts, value)
    return made is not None and (
        made.name in ("stop_gradient", "argmax", "argmin", "argsort", "floor", "round", "ceil", "sign")
        or made.name in ("greater", "less", "equal")
    )


def _core(facts: FileFacts, value: Value) -> tuple[Value, bool, bool]:
    """The value under what keeps its zeros: casts, signs, constant factors, squares; if negated, if squared."""
    negated = even = False
    for _ in range(12):
        value = unshaped(facts, value)
        if value.op == "unary" and value.data == "USub":
            negated, value = not negated, value.args[0]
            continue
        made = applied(facts, value)
        if made is None:
            break
        if made.name in ("abs", "absolute", "square", "fabs"):
            even, value = True, made.args[0]
        elif made.name == "power" and (number(facts, made.args[1]) or 0) > 0:
            even, value = even or number(facts, made.args[1]) in (2, 4), made.args[0]
        elif made.name in ("multiply", "divide") and len(made.args) == 2:
            left, right = made.args
            by_right, by_left = number(facts, right), number(facts, left)
            if by_right:
                negated, value = negated != (by_right < 0), left
            elif by_left and made.name == "multiply":
                negated, value = negated != (by_left < 0), right
            elif made.name == "multiply" and alike(left, right):
                even, value = True, left
            else:
                break
        else:
            break
    return value, negated, even


def _patched(facts: FileFacts, condition: Value, negated: bool) -> Iterator[Value]:
    """The values that a condition asks about being finite, if it sends elsewhere where they are not."""
    condition = unshaped(facts, condition)
    while condition.op == "unary" and condition.data in ("Invert", "Not"):
        negated, condition = not negated, unshaped(facts, condition.args[0])
    made = applied(facts, condition)
    if made is not None and made.name == "logical_not":
        negated, made = not negated, applied(facts, unshaped(facts, made.args[0]))
    if made is not None and ((made.name in _NOT_FINITE and negated) or (made.name == "isfinite" and not negated)):
        yield made.args[0]


def _spoiled(facts: FileFacts, patched: list[Value], arm: Value) -> Hidden | None:
    """The division or logarithm that makes a patched value nan, where the arm is that value."""
    for value in patched:
        if not alike(unshaped(facts, value), unshaped(facts, arm)):
            continue
        value = followed(facts, unshaped(facts, value))
        made = applied(facts, value)
        if made is None or made.name not in (*_LOGARITHMS, "divide", "true_divide"):
            continue
        at = made.args[-1] if made.name.endswith("divide") else made.args[0]
        if facts.kind(at) in ("static", "host") or _is_safe(facts, at):
            continue
        return Hidden(_WORDS.get(made.name, made.name), at, False)
    return None


def _is_safe(facts: FileFacts, value: Value) -> bool:
    """Whether something was done to keep a value away from zero."""
    value = followed(facts, unshaped(facts, value))
    made = applied(facts, value)
    return made is not None and made.name in ("where", "maximum", "clip", "clamp", "add", "exp", "select", "max")


RULE = SourceRule(
    code="NUM101",
    name="unsafe-where",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
