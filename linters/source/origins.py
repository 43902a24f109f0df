"""Where an object was made that a function changes, and whether that is outside of the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .records import Function
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

_CONTAINERS = frozenset({"list", "dict", "set", "defaultdict", "OrderedDict", "deque", "SimpleNamespace"})


def root(value: Value, into_item: bool, depth: int = 12) -> Value | None:
    """The object that a chain of attributes, items and changes starts from.

    An element of a list or tuple may be a reference of a kernel, which is written by `ref[index] = v`.
    """
    while depth:
        depth -= 1
        if into_item and value.op == "item" and not isinstance(value.args[1].data, str):
            return None
        if value.op in ("updated", "attr", "item", "loop"):
            value = value.args[0]
        elif value.op == "phi":
            roots = [root(each, into_item, depth - 1) for each in value.args[:4]]
            return roots[0] if all(root is roots[0] for root in roots) else None
        else:
            return value
    return None


def maker(facts: FileFacts, base: Value) -> Function | None:
    """The function of this file in whose code an object is made: a container, or the instance of a class."""
    if base.op in ("list", "dict", "set", "comp") and base.node is not None:
        return _at(facts, base)
    if base.op == "call":
        call = base.data
        callee = facts.callee(call)
        name = callee.name or ""
        if callee.cls is None and name.rpartition(".")[2] not in _CONTAINERS:
            return None
        return call.function if isinstance(call.function, Function) else None
    return None


def _at(facts: FileFacts, value: Value) -> Function | None:
    """The innermost function round a node."""
    line = getattr(value.node, "lineno", None)
    if line is None:
        return None
    column = value.node.col_offset  # type: ignore[union-attr]
    best = facts.functions[0]
    for each in facts.functions[1:]:
        node = each.node
        begin = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        if begin <= (line, column) < end and begin >= (best.line, getattr(best.node, "col_offset", 0)):
            best = each
    return best


def owner_of_name(function: Function, name: str) -> Function | None:
    """The enclosing function that a nonlocal name belongs to."""
    for each in list(function.chain())[1:]:
        if each.parameter(name) is not None:
            return each
        if any(store.kind == "name" and store.name == name for store in each.stores):
            return each
    return None


def outside(facts: FileFacts, function: Function, owner: Function) -> bool:
    """Whether `owner`, a function round this one, runs outside of the trace, or a transform lies between."""
    if owner.is_module:
        return True
    chain = list(function.chain())
    if owner not in chain:
        return False
    between = chain[: chain.index(owner)]
    if facts.traced(owner) is None:
        return True
    return any((traced := facts.traced(each)) is not None and traced.direct for each in between)
