"""Names that a call binds again: those that a function of this file declares `nonlocal` or `global` and sets."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from ..records import Call, Function
from .state import State
from .value import Value

_DECLARED = re.compile(r"\b(?:global|nonlocal)[ \t]+([\w \t,]+)")
_FIXED = ("name", "function", "class", "unknown")


class Outer(NamedTuple):
    """Names of other scopes that a function sets when it runs: of the module, of the functions round it."""

    module: frozenset[str]
    function: frozenset[str]


_NONE = Outer(frozenset(), frozenset())


def declared_in(text: str) -> frozenset[str]:
    """The names that any function of a file may declare so."""
    if "global" not in text and "nonlocal" not in text:
        return frozenset()
    return frozenset(name for found in _DECLARED.finditer(text) for name in re.findall(r"\w+", found[1]))


class Renewed(State):
    """After a call, a name that it may have bound again has either value."""

    rebound: frozenset[str]
    """The names that functions of this file declare `nonlocal` or `global`."""
    outer: set[str]
    """Names of other scopes that are in `env` because a call or a loop may have bound them again."""
    _sets: dict[Function, Outer]

    def renew_names(self, call: Call) -> None:
        """Whatever the called function, or one that it is given, sets is no longer what it was."""
        for value in (call.func, *call.args, *call.keywords.values()):
            function = self._of_file(value)
            if function is not None:
                sets = self._set_by(function)
                own = function.parent is self.function and not self.function.is_module
                for name in sets.function:
                    if own or self.is_outer(name):
                        self._renew_name(name, call)
                for name in sets.module:
                    if self.is_outer(name):
                        self._renew_name(name, call)

    def is_outer(self, name: str) -> bool:
        """Whether a name is of a scope round this one, or of the module in its own code."""
        if self.env is self.globals or self.function.is_module or name in self.declared:
            return True
        return name not in self.env or name in self.outer

    def _renew_name(self, name: str, call: Call) -> None:
        before = self.env.get(name) or self.lookup(name, call.node)
        if before.op in _FIXED:
            return
        if before.op == "phi" and before.data is None and before.args[-1].op == "unknown":
            before = before.args[0]
        if self.is_outer(name):
            self.outer.add(name)
        self.env[name] = Value("phi", before.node, (before, Value("unknown", call.node)), None)

    def _of_file(self, value: Value) -> Function | None:
        """The function of this file that a value is: decorated, or a method of the object that a method is of."""
        while value.op == "call" and value.data.decorates is not None and value.data.args:
            value = value.data.args[0]
        if value.op == "function":
            return value.data
        if value.op == "attr" and value.args[0].op == "param" and value.args[0].data.index == 0:
            owner = value.args[0].data.function.owner
            return owner.methods.get(value.data) if owner is not None else None
        return None

    def _set_by(self, function: Function) -> Outer:
        """What a function sets, itself or in the functions of this file that it calls by their names."""
        known = self._sets.get(function)
        if known is not None:
            return known
        self._sets[function] = _NONE
        module: set[str] = set()
        outer: set[str] = set()
        stack: list[ast.AST] = [] if isinstance(function.node, ast.Lambda) else [*function.node.body]  # type: ignore[attr-defined]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Global):
                module.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                outer.update(node.names)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = self._of_file(self.lookup(node.func.id, node.func))
                if called is not None and called is not function:
                    sets = self._set_by(called)
                    module |= sets.module
                    outer |= sets.function
            stack.extend(ast.iter_child_nodes(node))
        outer -= {each.name for each in function.parameters}
        self._sets[function] = Outer(frozenset(module), frozenset(outer))
        return self._sets[function]
