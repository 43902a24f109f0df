"""Which attributes of an object stay: those that change while it is iterated over tell where it stands, not what it is.

Read off the source of its classes, so that an object says the same of itself before and after it was iterated over.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

_MADE_BY = frozenset({"__init__", "__new__", "__post_init__"})
_USED_BY = frozenset({"get_state", "set_state", "map", "map_with_index", "random_map", "flat_map", "filter"})
"""What a loader calls of an iterator and of an operation, beside special methods: `__next__`, `__getitem__`, ..."""
_IN_PLACE = frozenset({"append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "sort"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def steady(thing: Any) -> Mapping[str, Any]:
    """The attributes of an object that stay as they are while it is iterated over, by name."""
    changing = _changing(type(thing))
    return {name: value for name, value in sorted(getattr(thing, "__dict__", {}).items()) if name not in changing}


@cache
def _changing(kind: type) -> frozenset[str]:
    """Names that are set, or changed in place, when the object is used, or by another object."""
    found: set[str] = set()
    methods: dict[str, list[Function]] = {}
    for each in kind.__mro__[:-1]:
        for function in _methods(each):
            methods.setdefault(function.name, []).append(function)
        found.update(name for name, value in vars(each).items() if isinstance(value, cached_property))
    using = _using(methods)
    for name, functions in methods.items():
        for function in functions:
            found.update(attribute for of, attribute in _set(function) if name in using or of != _own(function))
    return frozenset(found)


def _methods(kind: type) -> Iterator[Function]:
    """The functions in the body of a class; none where its source is not at hand."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return
    body = tree.body[0] if tree.body else None
    yield from (each for each in getattr(body, "body", ()) if isinstance(each, Function))


def _using(methods: Mapping[str, list[Function]]) -> set[str]:
    """The methods that iterating runs, and those that they name."""
    using: set[str] = set()
    todo = [name for name in methods if name in _USED_BY or (name.startswith("__") and name not in _MADE_BY)]
    while todo:
        name = todo.pop()
        if name not in using:
            using.add(name)
            todo += [each for function in methods[name] for each in _named(function) if each in methods]
    return using


def _named(function: Function) -> Iterator[str]:
    """Attributes of its own that a function reads: methods that it calls or hands to a thread, properties."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == _own(function):
            yield node.attr


def _own(function: Function) -> str:
    return function.args.args[0].arg if function.args.args else ""


def _set(function: Function) -> Iterator[tuple[str, str]]:
    """What a function sets or changes in place: the name before the point, and the attribute."""
    for node in ast.walk(function):
        changed: ast.AST | None = None
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            changed = node
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _IN_PLACE:
            changed = node.func.value
        if isinstance(changed, ast.Attribute):
            yield changed.value.id if isinstance(changed.value, ast.Name) else "", changed.attr
