"""What an expression computes: array functions by their plain name, however they are called, and what goes into them.

Rules on numerics compare formulas, not spellings: `jnp.sum(x * m)`, `(x * m).sum()` and a helper of the project that
returns either are the same to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .records import Call, Function, Record
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_MODULES = (
    "jax.numpy.linalg",
    "jax.numpy",
    "jax.lax",
    "jax.nn",
    "jax.scipy.special",
    "jax.scipy.linalg",
    "flax.linen",
    "flax.nnx",
)
_SHAPING = frozenset(
    {
        "reshape", "squeeze", "expand_dims", "broadcast_to", "asarray", "array", "ravel", "flatten", "astype",
        "convert_element_type", "transpose", "swapaxes", "moveaxis", "broadcast_in_dim", "tile", "repeat",
    }
)  # fmt: skip
_CASTS = frozenset({"float32", "bfloat16", "float16", "float64", "int32"})
_BY_OPERATOR = {"Add": "add", "Sub": "subtract", "Mult": "multiply", "Div": "divide", "Pow": "power"}
_GRADIENTS = ("jax.grad(", "jax.value_and_grad(", "jax.vjp(", "jax.jvp(", "jax.jacfwd(", "jax.jacrev(", "jax.jacobian(",
    "jax.hessian(", "jax.linearize(", "filter_grad(", "filter_value_and_grad(", "nnx.grad(", "nnx.value_and_grad(",
    "linen.value_and_grad(", "linen.grad(")  # fmt: skip
MOST_VISITED = 150


class Applied(NamedTuple):
    """A function of arrays and what it is applied to: `jnp.sum(x, axis=0)` and `x.sum(0)` are both `sum` of (x, ...).

    Arithmetic is here too, under NumPy's names: `a / b` is `divide` of (a, b).
    """

    name: str
    args: tuple[Value, ...]
    keywords: dict[str | None, Value]

    def option(self, position: int, name: str) -> Value | None:
        """An argument by position or keyword."""
        return self.keywords.get(name) or (self.args[position] if position < len(self.args) else None)


def applied(facts: FileFacts, value: Value) -> Applied | None:
    """The array function that a value is the result of; None for anything else."""
    if value.op == "bin":
        name = _BY_OPERATOR.get(value.data)
        return Applied(name, tuple(value.args), {}) if name else None
    if value.op != "call":
        return None
    call: Call = value.data
    callee = facts.callee(call)
    name = callee.name
    if name is None or callee.wraps or callee.function is not None or callee.cls is not None:
        return None
    if name[0] == ".":
        if call.func.op != "attr":
            return None
        return Applied(name[1:], (call.func.args[0], *call.args), call.keywords)
    module, _, last = name.rpartition(".")
    if module in _MODULES:
        return Applied({"div": "divide", "mul": "multiply", "sub": "subtract", "pow": "power"}.get(last, last),
            tuple(callee.bound) + tuple(call.args), {**callee.bound_keywords, **call.keywords})  # fmt: skip
    return None


def unshaped(facts: FileFacts, value: Value) -> Value:
    """The value under casts, reshapes, new axes and broadcasts."""
    for _ in range(12):
        if value.op == "item":
            if not _only_shapes(value.args[1]):
                return value
            value = value.args[0]
            continue
        if value.op == "attr" and value.data in ("T", "mT"):
            value = value.args[0]
            continue
        made = applied(facts, value)
        if made is None or not made.args or made.name not in _SHAPING | _CASTS:
            return value
        value = made.args[0]
    return value


def _only_shapes(index: Value) -> bool:
    """Whether a subscript only adds axes: `[:, None]`, `[..., jnp.newaxis]`."""
    parts = index.args if index.op == "tuple" else (index,)
    return all(
        (each.op == "const" and (each.data is None or each.data is Ellipsis))
        or (each.op == "slice" and all(part.op == "const" and part.data is None for part in each.args))
        or (dotted(each) or "").endswith(".newaxis")
        for each in parts
    )


def alike(left: Value, right: Value, depth: int = 6) -> bool:
    """Whether two values are surely the same: one value, or the same formula of the same values."""
    if left is right:
        return True
    if depth == 0 or left.op != right.op or len(left.args) != len(right.args):
        return False
    if left.op == "const":
        return type(left.data) is type(right.data) and left.data == right.data
    if left.op == "call":
        a, b = left.data, right.data
        if len(a.args) != len(b.args) or a.keywords.keys() != b.keywords.keys() or not alike(a.func, b.func, depth - 1):
            return False
        name = dotted(a.func)
        if (name is None and a.func.op != "attr") or (name or "").startswith(("jax.random.", "numpy.random.")):
            return False
        pairs = [*zip(a.args, b.args, strict=True), *((a.keywords[key], b.keywords[key]) for key in a.keywords)]
        return all(alike(x, y, depth - 1) for x, y in pairs)
    if left.op in ("name", "attr", "item", "slice", "bin", "compare", "unary", "tuple"):
        if left.data != right.data or (left.loop is not None and left.loop is not right.loop):
            return False
        return all(alike(x, y, depth - 1) for x, y in zip(left.args, right.args, strict=True))
    return left.op == "param" and left.data is right.data


def followed(facts: FileFacts, value: Value) -> Value:
    """What a call of a project function returns, as far as it is one formula; else the value itself."""
    for _ in range(3):
        made = (
            facts.returned(value)
            if value.op == "call"
            else facts.program.item_of(value)
            if value.op == "item"
            else None
        )
        if made is None or made.op == "unknown":
            return value
        value = made
    return value


def inside(facts: FileFacts, value: Value, stop: Callable[[Value], bool] | None = None) -> Iterator[Value]:
    """The values that a value is computed from, itself first, through project functions; not what `stop` holds of."""
    seen: set[int] = set()
    stack = [value]
    while stack and len(seen) < MOST_VISITED:
        each = stack.pop()
        if id(each) in seen or (stop is not None and stop(each)):
            continue
        seen.add(id(each))
        yield each
        if each.op == "call":
            made = facts.returned(each)
            if made is not None:
                stack.append(made)
                continue
            call: Call = each.data
            stack += [*call.args, *call.keywords.values()]
            if call.func.op == "attr":
                stack.append(call.func.args[0])
        elif each.op == "item":
            part = facts.program.item_of(each)
            stack += [each.args[0]] if part is None else [part]
        else:
            stack += each.args


def number(facts: FileFacts, value: Value | None) -> float | None:
    """The number that a value surely is."""
    if value is None:
        return None
    if value.op == "unary" and value.data == "USub":
        found = number(facts, value.args[0])
        return None if found is None else -found
    found = facts.constant(value)
    return float(found) if type(found) in (int, float) else None


def is_differentiated(facts: FileFacts, function: Function) -> bool:
    """Whether a derivative is taken of a function, as its chain of transforms says."""
    traced = facts.traced(function)
    return traced is not None and any(mark in str(why) for why in traced.chain for mark in _GRADIENTS)


def is_jax(facts: FileFacts, value: Value) -> bool:
    """Whether a formula is surely one of JAX arrays: by a function of JAX in it, or by what is known of its parts."""
    if facts.kind(value) in ("array", "traced", "eager", "device"):
        return True
    if value.op == "call":
        name = facts.callee(value.data).name or ""
        if name.startswith(("jax.", "flax.", "optax.")):
            return True
        if name[0:1] == "." and value.data.func.op == "attr":
            return is_jax(facts, value.data.func.args[0])
        return False
    return value.op in ("bin", "unary", "compare", "item") and any(is_jax(facts, each) for each in value.args)


def is_asked(facts: FileFacts, record: Record, *values: Value) -> bool:
    """Whether a condition asks about one of these values: round a record, or in a `where` of its function.

    `where(mask, ...)` chooses by the mask, and asks nothing about it; `where(mask.any(), ...)` does.
    """
    if any(
        alike(part, value) for guard, _ in record.block.guards() for part in inside(facts, guard) for value in values
    ):
        return True
    for call in record.function.calls:
        made = applied(facts, call.result) if len(call.args) > 2 else None
        if made is not None and made.name in ("where", "select", "cond") and made.args:
            chosen_by = unshaped(facts, made.args[0])
            parts = [part for part in inside(facts, chosen_by) if part is not chosen_by]
            if any(alike(part, value) for part in parts for value in values):
                return True
    return False


def elements(facts: FileFacts, value: Value, depth: int = 5) -> Iterator[Value]:
    """The arrays that a value is computed from element by element: itself, and what goes into arithmetic."""
    value = unshaped(facts, value)
    yield value
    if depth and (value.op == "unary" or (value.op == "bin" and value.data in _BY_OPERATOR)):
        for each in value.args:
            yield from elements(facts, each, depth - 1)
    elif depth and value.op == "call":
        made = facts.returned(value)
        if made is not None:
            yield from elements(facts, made, depth - 1)
