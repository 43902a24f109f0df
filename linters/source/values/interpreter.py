"""One pass over one file: the module's own code first, then every function, those inside others after them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..records import Block, Function, Module, Return
from .renewed import declared_in
from .state import Env, Scope
from .statements import Statements
from .value import Value

FRAMES = 20_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for deeply nested code. Since Python 3.11 a call from Python to Python takes no C stack."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class Interpreter(Statements):
    """Interprets a module whose `tree` is there, and fills in the rest of it."""

    def interpret(self) -> Module:
        module = self.module
        self.rebound, self._sets, self.outer = declared_in(module.source.text), {}, set()
        top = Function(f"{module.name}:", "<module>", module.tree, None, None)
        module.functions.append(top)
        self._enter(top, None, self.globals)
        self._guarded(top, module.tree.body)
        # Where paths met, the state is a new one: the last one has what all names ended up as.
        self.globals = self.globals | self.env
        at = 0
        while at < len(self.queue):
            function, scope = self.queue[at]
            at += 1
            self._body(function, scope)
        module.exports = {name: value for name, value in self.globals.items() if type(name) is str}
        return module

    def _enter(self, function: Function, scope: Scope | None, env: Env) -> None:
        self.function, self.scope, self.env = function, scope, env
        self.block: Block = function.block
        self.loop, self.ends, self.order, self.owner = None, None, 0, None
        self.declared, self.exits, self.breaks, self.continues = {}, [], [], []
        self.attributes, self.in_class_body, self.outer = {}, False, set()

    def _body(self, function: Function, scope: Scope | None) -> None:
        node, env = function.node, Env()
        for parameter in function.parameters:
            env[parameter.name] = Value("param", None, (), parameter)
        self._enter(function, scope, env)
        self.final = {}
        if isinstance(node, ast.Lambda):
            self._guarded(function, [ast.copy_location(ast.Return(value=node.body), node.body)])
        else:
            self._guarded(function, node.body)  # type: ignore[attr-defined]
        ends = ([] if self.ends else [self.env]) + [each for each in self.exits if each is not self.env]
        if self.ends is None and not isinstance(node, ast.Lambda):
            function.returns.append(Return(node, self.block, function, self.next(), None, "end", Value("const", None)))
        final = self.join([each.copy() for each in ends[:4]], None) if len(ends) > 1 else (ends or [self.env])[0]
        self.final.update((name, value) for name, value in final.items() if type(name) is str)

    def _guarded(self, function: Function, body: list[ast.stmt]) -> None:
        """The body; where it nests too deep, what was seen of it stays, and the module says where."""
        try:
            self.run(body)
        except RecursionError:
            self.module.too_deep.append(function.line)


def interpret(module: Module) -> Module:
    """Fills in functions, classes and exports of a parsed module."""
    with deep_recursion():
        interpreter = Interpreter(module)
        try:
            return interpreter.interpret()
        finally:
            # Its tables hold methods, which hold it: without this only the collector could free what it knows.
            interpreter.__dict__.clear()
