"""Which names and attributes a loop's body can change: they differ from round to round."""

from __future__ import annotations

import ast

MUTATORS = frozenset(
    {
        "append",
        "appendleft",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "put",
        "put_nowait",
        "__setitem__",
    }
)
AMBIGUOUS = frozenset({"update", "add"})
"""Of these, only what stands alone changes a dictionary or set: `updates, state = optimizer.update(...)` does not."""
_OTHER_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Assigned:
    """`names` are bound or changed in place, `attributes` are (name, attribute), `called`: their methods run.

    `calls` says whether anything is called at all.
    """

    __slots__ = ("attributes", "called", "calls", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.called: set[str] = set()
        self.calls = False


def assigned_in(nodes: list[ast.stmt], *more: ast.AST) -> Assigned:
    """What the statements can change, nested functions and classes left out."""
    found = Assigned()
    names = found.names
    stack: list[ast.AST] = [*nodes, *more]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                names.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if kind in _OTHER_SCOPE:
            name = getattr(node, "name", None)
            if name:
                names.add(name)
            continue
        if kind is ast.Attribute:
            if type(node.ctx) is not ast.Load and type(node.value) is ast.Name:  # type: ignore[attr-defined]
                found.attributes.add((node.value.id, node.attr))  # type: ignore[attr-defined]
        elif kind is ast.Subscript:
            if type(node.ctx) is not ast.Load and type(node.value) is ast.Name:  # type: ignore[attr-defined]
                names.add(node.value.id)  # type: ignore[attr-defined]
        elif kind is ast.Expr and type(node.value) is ast.Call:  # type: ignore[attr-defined]
            func = node.value.func  # type: ignore[attr-defined]
            if type(func) is ast.Attribute and func.attr in AMBIGUOUS and type(func.value) is ast.Name:
                names.add(func.value.id)
        elif kind is ast.Call:
            found.calls = True
            func = node.func  # type: ignore[attr-defined]
            if type(func) is ast.Attribute and type(func.value) is ast.Name:
                if func.attr in MUTATORS and func.attr not in AMBIGUOUS:
                    names.add(func.value.id)
                else:
                    found.called.add(func.value.id)
        elif kind is ast.ExceptHandler or kind is ast.MatchAs or kind is ast.MatchStar:
            if node.name:  # type: ignore[attr-defined]
                names.add(node.name)  # type: ignore[attr-defined]
        elif kind is ast.Import or kind is ast.ImportFrom:
            for alias in node.names:  # type: ignore[attr-defined]
                names.add((alias.asname or alias.name).split(".")[0])
            continue
        for field in node._fields:
            child = getattr(node, field)
            if type(child) is list:
                stack.extend(each for each in child if isinstance(each, ast.AST))
            elif isinstance(child, ast.AST):
                stack.append(child)
    return found
