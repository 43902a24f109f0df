"""An element of a JAX array is assigned in place.

## What it does
Reports `x[index] = value` and `x[index] += value` where `x` is surely a JAX array: the result of an array operation,
in a traced function or on the host, an argument of a traced function (or part of one) that is indexed as only arrays
are or has methods called that only arrays have, what the same function also updates with `.at[...]`, or an attribute
that its class declares to be an array or stores one in.

## Why is this bad?
JAX arrays are immutable: the statement raises TypeError (https://github.com/jax-ml/jax/issues/101,
https://github.com/jax-ml/jax/issues/2219). It is the first thing that code moved over from NumPy stumbles on.

## Example
    out = jnp.zeros(3)
    out[0] = 1.0
    out[1:] += 2.0

## Use instead
    out = jnp.zeros(3)
    out = out.at[0].set(1.0)
    out = out.at[1:].add(2.0)

The fix writes this. In a compiled program nothing is copied: the update happens in place.

## What stays clean
NumPy arrays and what may be one, dictionaries and lists; references in Pallas kernels and variables of Flax, written
with `[...]`; arguments that may be a dictionary or a list; whatever is not known to be an array.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#in-place-updates
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....contracts.finding import Edit, Finding, Fix
from ..arrays import is_array, is_indexed_as_array, is_used_as_array, may_be_numpy
from ..concrete import may_be_concrete
from ..facts import FileFacts
from ..records import Function, Store
from ..rule import SourceRule
from ..twins.array_item_assignment import BAD, GOOD
from ..values.value import Value

_CONTAINERS = ("tuple", "list", "dict", "set", "star", "phi")
_UPDATES = {"Add": "add", "Mult": "multiply", "Div": "divide", "Pow": "power"}
_OPERATORS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "FloorDiv": "//", "Mod": "%",
    "MatMult": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>"}  # fmt: skip


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for store in function.stores:
            if store.kind != "item" or store.base is None or store.index is None:
                continue
            if may_be_numpy(facts, store.base):
                continue
            sure = is_array(facts, store.base)
            if (
                not sure
                and not is_indexed_as_array(facts, store.base, store.index)
                and not is_used_as_array(facts, store)
            ):
                continue
            if may_be_concrete(facts, store):
                continue
            base = facts.text(store.node.value)  # type: ignore[attr-defined]
            yield facts.finding(
                RULE,
                store.node,
                f"`{base}` is a JAX array: its elements cannot be assigned",
                subject=f"{function.name}: {facts.text(store.node)}",
                because=facts.why(function),
                help=f"write {base} = {base}.at[...].{_UPDATES.get(store.augmented or '', 'set')}(...)",
                confidence="certain" if sure else "likely",
                fix=_fix(facts, function, store, sure),
            )


def _fix(facts: FileFacts, function: Function, store: Store, sure: bool) -> Fix | None:
    """`x = x.at[index].set(value)`: safe where it surely is an array, no other name can stand for the same one, and
    none of it is lost.
    """
    statement, target = store.statement, store.node
    if not isinstance(statement, (ast.Assign, ast.AugAssign)) or not isinstance(target, ast.Subscript):
        return None
    if isinstance(statement, ast.Assign) and (len(statement.targets) > 1 or statement.targets[0] is not target):
        return None
    own = isinstance(target.value, ast.Name) and _is_own(function, target.value.id)
    if not own and not isinstance(target.value, ast.Attribute):
        return None  # an assignment would make a name of this function's own
    base, index, value = (_code(facts, each) for each in (target.value, target.slice, statement.value))
    if "(" in base or "[" in base or "#" in _code(facts, statement) or isinstance(statement.value, ast.Yield):
        return None
    simple = store.index is not None and _is_simple(facts, store.index)
    update, value = _update(store.augmented, f"{base}[{index}]", value, simple, statement.value)
    edit = Edit(facts.location(statement), f"{base} = {base}.at[{index}].{update}({value})")
    return Fix(f"use .at[].{update}()", (edit,), safe=sure and own and simple and not _has_alias(function, store))


def _update(operator: str | None, element: str, value: str, simple: bool, node: ast.expr) -> tuple[str, str]:
    """The method of `.at[]` and its argument. An index that may name an element twice adds it once, as in NumPy."""
    grouped = (
        value if isinstance(node, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)) else f"({value})"
    )
    if operator is None:
        return "set", value if not isinstance(node, ast.Tuple) else grouped
    if simple and operator in _UPDATES:
        return _UPDATES[operator], value
    if simple and operator == "Sub":
        return "add", f"-{grouped}"
    return "set", f"{element} {_OPERATORS[operator]} {grouped}"


def _code(facts: FileFacts, node: ast.AST) -> str:
    return facts.source.between(facts.location(node))


def _is_simple(facts: FileFacts, index: Value) -> bool:
    """Whether an index surely names no element twice: numbers and slices known while tracing."""
    parts = index.args if index.op == "tuple" else (index,)
    return all(part.op == "slice" or (part.op != "list" and facts.kind(part) == "static") for part in parts)


def _is_own(function: Function, name: str) -> bool:
    stores = [each for each in function.stores if each.kind in ("name", "global", "nonlocal") and each.name == name]
    return all(each.kind == "name" for each in stores) and (bool(stores) or function.parameter(name) is not None)


def _has_alias(function: Function, store: Store) -> bool:
    """Whether the array also has another name, or lies in a container: there, it would have changed too."""
    base = store.base
    while base is not None and base.op == "updated":
        base = base.args[0]
    if base is None:
        return True
    names = {each.name for each in function.stores if each.kind == "name" and each.value is base}
    return len(names) > 1 or any(
        _is_in(base, each.value) and (each.kind != "name" or each.value is not base) for each in function.stores
    )


def _is_in(base: Value, value: Value, depth: int = 0) -> bool:
    """Whether a value is this one, or a container that holds it."""
    if value is base:
        return True
    return depth < 4 and value.op in _CONTAINERS and any(_is_in(base, each, depth + 1) for each in value.args)


RULE = SourceRule(
    code="JIT114",
    name="array-item-assignment",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    fix="safe",
)
