"""Statements: how the state changes, and where paths part, meet and end."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..records import Block, Branch, Class, Loop, Return, Store
from ..removals import NOTED
from .assigned import Assigned, assigned_in
from .expressions import Expressions
from .state import Env, Version
from .value import NONE, UNKNOWN, Value


class Statements(Expressions):
    """Runs statements in order. `self.ends` says how the current path ended, None while it goes on."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.runners: dict[type, Callable[[Any], None]] = {
            kind: getattr(self, f"_run_{kind.__name__.lower()}")
            for kind in (
                ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.If, ast.For, ast.AsyncFor,
                ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Raise, ast.Assert, ast.Delete, ast.Import,
                ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal,
                ast.Break, ast.Continue, ast.Match,
            )
        }  # fmt: skip
        try_star = getattr(ast, "TryStar", None)
        if try_star:
            self.runners[try_star] = self._run_try

    def run(self, body: Sequence[ast.stmt]) -> None:
        """The statements of one body, until the path ends."""
        outer = self.statement
        for statement in body:
            if self.ends:
                break
            runner = self.runners.get(type(statement))
            if runner:
                self.statement = statement
                runner(statement)
        self.statement = outer

    def _run_expr(self, node: ast.Expr) -> None:
        if type(node.value) is not ast.Constant:
            self.evaluate(node.value)

    # Assignment

    def _run_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value, node)

    def _run_annassign(self, node: ast.AnnAssign) -> None:
        value = self.evaluate(node.value) if node.value else None
        if self.in_class_body and type(node.target) is ast.Name and self.owner is not None:
            self.owner.annotations[node.target.id] = self.annotation(node.annotation)
        if value is not None:
            self.assign(node.target, value, node)

    def _run_augassign(self, node: ast.AugAssign) -> None:
        target, operator = node.target, type(node.op).__name__
        if type(target) is ast.Name:
            old = self._name(target)
        elif type(target) is ast.Attribute:
            old = self._attribute(target)
        else:
            old = self.evaluate(target)
        value = Value("bin", node, (old, self.evaluate(node.value)), operator)
        self._arithmetic(node, value)
        self.assign(target, value, node, operator)

    def assign(self, target: ast.expr, value: Value, node: ast.AST, augmented: str | None = None) -> None:
        kind = type(target)
        if kind is ast.Name:
            self._bind(target, target.id, value, augmented)  # type: ignore[attr-defined]
        elif kind is ast.Tuple or kind is ast.List:
            self._unpack(target.elts, value, node)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            self._set_attribute(target, value, augmented)  # type: ignore[arg-type]
        elif kind is ast.Subscript:
            self._set_item(target, value, augmented)  # type: ignore[arg-type]
        elif kind is ast.Starred:
            self.assign(target.value, Value("list", target, (Value("star", target, (value,)),)), node)  # type: ignore[attr-defined]

    def _bind(self, node: ast.AST, name: str, value: Value, augmented: str | None = None) -> None:
        declared = self.declared.get(name)
        self.env[name] = value
        kind = declared or ("global" if self.env is self.globals else "name")
        self.order += 1
        self.function.stores.append(
            Store(
                node, self.block, self.function, self.order, self.statement, kind if declared else "name", name, value,
                augmented=augmented,
            )
        )  # fmt: skip
        if declared == "global":
            old = self.globals.get(name)
            self.globals[name] = value if old is None or old is value else Value("phi", node, (old, value), None)

    def _unpack(self, targets: list[ast.expr], value: Value, node: ast.AST) -> None:
        starred = next((at for at, each in enumerate(targets) if type(each) is ast.Starred), None)
        for at, target in enumerate(targets):
            if starred is None or at < starred:
                part = self.item(value, Value("const", target, (), at), target)
            elif at == starred:
                part = Value("star", target, (value,))
            else:
                part = self.item(value, Value("const", target, (), at - len(targets)), target)
            self.assign(target, part, node)

    def _set_attribute(self, target: ast.Attribute, value: Value, augmented: str | None) -> None:
        base = self.evaluate(target.value)
        self.order += 1
        self.function.stores.append(
            Store(
                target, self.block, self.function, self.order, self.statement, "attribute", target.attr, value, base,
                augmented=augmented,
            )
        )  # fmt: skip
        if base.op != "name":
            self.env[(base, target.attr, self.version(base))] = value
        function = self.function
        if base.op == "param" and base.data.index == 0:
            owner = next((each.owner for each in function.chain() if each is base.data.function), None)
            if owner is not None:
                owner.self_attributes.setdefault(target.attr, []).append(value)

    def _set_item(self, target: ast.Subscript, value: Value, augmented: str | None) -> None:
        base, index = self.evaluate(target.value), self.evaluate(target.slice)
        self.order += 1
        self.function.stores.append(
            Store(
                target, self.block, self.function, self.order, self.statement, "item", "", value, base, index, augmented
            )
        )
        name = target.value
        if type(name) is ast.Name and name.id in self.env:
            self.env[name.id] = Value("updated", target, (base, value, index), "item")

    def _run_delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if type(target) is ast.Name:
                self.env.pop(target.id, None)
            elif type(target) is not ast.Attribute:
                self.evaluate(target)

    def _run_global(self, node: ast.Global) -> None:
        self.declared.update(dict.fromkeys(node.names, "global"))
        for name in node.names:
            if name in self.globals:  # where paths meet, one that set it meets those that did not
                self.env.setdefault(name, self.globals[name])

    def _run_nonlocal(self, node: ast.Nonlocal) -> None:
        self.declared.update(dict.fromkeys(node.names, "nonlocal"))

    # Imports

    def _run_import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.module.imports.add(alias.name)
            self._imported(alias, alias.name)
            if alias.asname:
                self.env[alias.asname] = self.named(alias.name)
            else:
                first = alias.name.split(".")[0]
                self.env[first] = self.named(first)

    def _run_importfrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parts = self.module.name.split(".")
            if not self.module.is_package:
                parts = parts[:-1]
            parts = parts[: len(parts) - (node.level - 1)] if node.level > 1 else parts
            base = ".".join([*parts, *([node.module] if node.module else [])])
        self.module.imports.add(base)
        for alias in node.names:
            if alias.name == "*":
                self.module.stars.append(base)
                self._imported(alias, base)
            else:
                self._imported(alias, f"{base}.{alias.name}")
                self.env[alias.asname or alias.name] = self.named(f"{base}.{alias.name}" if base else alias.name)

    def _imported(self, node: ast.alias, name: str) -> None:
        """Records a noted name, or the noted module that it comes out of."""
        while "." in name:
            if name in NOTED:
                self.mention(node, name, "import")
                return
            name = name.rpartition(".")[0]

    # Paths

    def _run_return(self, node: ast.Return) -> None:
        value = self.evaluate(node.value) if node.value else NONE
        self.function.returns.append(
            Return(node, self.block, self.function, self.next(), self.statement, "return", value)
        )
        self.exits.append(self.env)
        self.ends = "return"

    def _run_raise(self, node: ast.Raise) -> None:
        if node.exc:
            self.evaluate(node.exc)
        self.ends = "raise"

    def _run_break(self, node: ast.Break) -> None:
        self.breaks.append(self.env)
        self.ends = "break"

    def _run_continue(self, node: ast.Continue) -> None:
        self.continues.append(self.env)
        self.ends = "continue"

    def _run_assert(self, node: ast.Assert) -> None:
        value = self.evaluate(node.test)
        self.branch(node, "assert", value)
        if node.msg:
            outer = self.block
            self.block = Block(outer, None, "message", None, self.loop)
            self.evaluate(node.msg)
            self.block = outer

    def _run_if(self, node: ast.If) -> None:
        test = self.evaluate(node.test)
        branch = self.branch(node, "if", test)
        self._arms(branch, [("then", node.body, self.env.copy(), test), ("else", node.orelse, self.env, test)])

    def _arms(self, branch: Branch, arms: Sequence[tuple[str, Sequence[ast.stmt], Env, Value | None]]) -> None:
        """Runs each arm in its own state, and goes on in what they join to."""
        outer, ended = self.block, None
        alive: list[tuple[Env, Block]] = []
        for arm, body, env, guard in arms:
            self.env, self.ends = env, None
            self.block = Block(outer, branch, arm, guard, self.loop)
            self.run(body)
            if self.ends:
                ended = self.ends
                self.block.ends = self.ends
            else:
                alive.append((self.env, self.block))
        if not alive:
            self.ends, self.block = ended, outer
            return
        self.ends = None
        if len(alive) == 1:
            # The rest of the body runs only where the others did not end it. An arm that itself goes on in a block of
            # a branch inside keeps that.
            self.env, self.block = alive[0]
        else:
            self.env, self.block = self.join([env for env, _ in alive], branch), outer

    def _run_match(self, node: ast.Match) -> None:
        subject = self.evaluate(node.subject)
        if _compares(node):
            self.branch(node.subject, "match", subject)
        branch = self.branch(node, "case", None)
        outer, before = self.block, self.env
        arms: list[tuple[str, Sequence[ast.stmt], Env, Value | None]] = []
        for at, case in enumerate(node.cases):
            self.env = before.copy()
            self.block = Block(outer, branch, f"case{at}", None, self.loop)
            for name in assigned_in([], case.pattern).names:
                self.env[name] = Value("unknown", case.pattern, (subject,))
            if case.guard:
                self.branch(case.guard, "case", self.evaluate(case.guard))
            arms.append((f"case{at}", case.body, self.env, None))
        self.block = outer
        arms.append(("none", (), before, None))
        self._arms(branch, arms)

    def _run_try(self, node: ast.Try) -> None:
        branch = self.branch(node, "try", None)
        outer, before = self.block, self.env.copy()
        tried = self.block = Block(outer, branch, "try", None, self.loop)
        self.run(node.body)
        if not self.ends:
            self.block = Block(self.block, None, "after try", None, self.loop)
            self.run(node.orelse)
        body_ends, after_body, body_block = self.ends, self.env, self.block
        tried.ends = body_ends
        alive = [] if body_ends else [(after_body, body_block)]
        ended = body_ends
        for at, handler in enumerate(node.handlers):
            self.env = self.join([before.copy(), after_body], branch)
            handling = Block(outer, branch, f"except{at}", None, self.loop)
            self.ends, self.block = None, handling
            if handler.type:
                self.evaluate(handler.type)
            if handler.name:
                self.env[handler.name] = Value("unknown", handler)
            self.run(handler.body)
            handling.ends = self.ends
            if self.ends:
                ended = self.ends
            else:
                alive.append((self.env, self.block))
        self.ends = None
        if alive:
            if len(alive) == 1:
                self.env, self.block = alive[0]
            else:
                self.env, self.block = self.join([env.copy() for env, _ in alive], branch), outer
        else:
            self.env, self.block = after_body, Block(body_block, None, "after try", None, self.loop)
        self.run(node.finalbody)
        if not alive and not self.ends:
            self.ends = ended

    def _run_with(self, node: ast.With | ast.AsyncWith) -> None:
        outer = self.block
        for item in node.items:
            context = self.evaluate(item.context_expr)
            self.block = Block(self.block, None, "with", context, self.loop)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, Value("enter", item.context_expr, (context,)), node)
        inner = self.block
        self.run(node.body)
        if self.block is inner:
            self.block = outer
        else:
            for _ in node.items:
                self.block = Block(self.block, None, "after with", None, self.loop)

    _run_asyncwith = _run_with

    # Loops

    def _run_for(self, node: ast.For | ast.AsyncFor) -> None:
        iterable = self.evaluate(node.iter)
        loop = Loop(node, self.block, self.function, self.next(), self.statement, "for", iterable)
        loop.element = self.element(iterable, loop, node.target)
        changed = assigned_in(node.body, node.target)
        self._loop(node, loop, changed, None, node.body, node.orelse)

    _run_asyncfor = _run_for

    def _run_while(self, node: ast.While) -> None:
        loop = Loop(node, self.block, self.function, self.next(), self.statement, "while", None)
        self._loop(node, loop, assigned_in(node.body, node.test), node.test, node.body, node.orelse)

    def _loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        loop: Loop,
        changed: Assigned,
        test: ast.expr | None,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
    ) -> None:
        self.function.loops.append(loop)
        outer_block, outer_loop = self.block, self.loop
        outer_breaks, outer_continues = self.breaks, self.continues
        self.breaks, self.continues = [], []
        self.loop = loop
        heads = self._heads(loop, changed)
        self.block = Block(outer_block, None, "loop", None, loop)
        guard = None
        if test is not None:
            guard = self.evaluate(test)
            self.branch(node, "while", guard)
        head = self.env.copy()
        self.block = Block(outer_block, None, "then", guard, loop)
        if isinstance(node, (ast.For, ast.AsyncFor)) and loop.element is not None:
            self.assign(node.target, loop.element, node)
        self.run(body)
        rounds = ([] if self.ends else [self.env]) + self.continues
        loop.once = not rounds
        if rounds:
            after = self.join([env.copy() for env in rounds], loop)
            for key, value in heads:
                last = after.get(key)
                value.args[1] = last if last is not None else value.args[0]
        else:
            for _, value in heads:
                value.args[1] = value.args[0]
        self.block, self.loop, self.ends = outer_block, outer_loop, None
        endless = test is not None and type(test) is ast.Constant and bool(test.value)
        breaks, self.breaks, self.continues = self.breaks, outer_breaks, outer_continues
        if endless:
            if not breaks:
                self.env, self.ends = head, "return"
                return
            self.env = self.join([env.copy() for env in breaks], loop)
            return
        self.env = head
        for key, value in heads:
            # What a name is after the loop is not what it was in a round, unless no round changes it.
            before, last = value.args
            if head.get(key) is value:
                unchanged = last is value or last is before
                head[key] = before if unchanged else Value("phi", value.node, (before, last), loop)
        for key, value in (rounds[0] if rounds else {}).items():
            head.setdefault(key, value)
        if orelse:
            self.run(orelse)
        if breaks and not self.ends:
            self.env = self.join([self.env, *breaks], loop)
        elif breaks:
            self.env, self.ends = self.join([env.copy() for env in breaks], loop), None

    def _heads(self, loop: Loop, changed: Assigned) -> list[tuple[Any, Value]]:
        """Values for what may differ from round to round, known only when the body is through."""
        heads: list[tuple[Any, Value]] = []
        env = self.env
        for name in sorted(changed.called):
            base = env.get(name)
            if base is not None and base.op != "name":
                env[(base,)] = Version(loop)
        for name, attribute in sorted(changed.attributes):
            base = env.get(name)
            if base is not None and base.op != "name" and name not in changed.names:
                before = self.attribute(base, attribute, loop.node)
                value = Value("loop", loop.node, [before, before], loop)
                key = (base, attribute, self.version(base))
                env[key] = value
                heads.append((key, value))
        for name in sorted(changed.names):
            before = env.get(name)
            if before is None and self.scope is not None and self.declared.get(name) == "nonlocal":
                before = self.scope.get(name)
            if before is not None:
                value = env[name] = Value("loop", loop.node, [before, before], loop)
                heads.append((name, value))
        self.module.heads.extend(value for _, value in heads)
        return heads

    # Definitions

    def _run_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [self.evaluate(each) for each in node.decorator_list]
        function = self.define(node, node.name)
        function.is_async = type(node) is ast.AsyncFunctionDef
        function.decorators = decorators
        self.parameters(function, node.args)
        value = function.value
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            call = self.call(written, decorator, [value], {})
            call.decorates = function
            value = call.result
        if self.in_class_body and self.owner is not None:
            self.owner.methods.setdefault(node.name, function)
            self.owner.attributes[node.name] = value
        self.env[node.name] = value

    _run_asyncfunctiondef = _run_functiondef

    def _run_classdef(self, node: ast.ClassDef) -> None:
        decorators = [self.evaluate(each) for each in node.decorator_list]
        if self.owner is not None:
            id = f"{self.owner.id}.{node.name}"
        elif self.function.is_module:
            id = f"{self.module.name}:{node.name}"
        else:
            id = f"{self.function.id}.{node.name}"
        if id in self.ids:
            self.ids[id] += 1
            id = f"{id}@{self.ids[id]}"
        self.ids.setdefault(id, 0)
        found = Class(id, node.name, node, self.function)
        found.decorators = decorators
        found.bases = [self.evaluate(each) for each in node.bases]
        found.keywords = {each.arg: self.evaluate(each.value) for each in node.keywords if each.arg}
        self.module.classes.append(found)
        self.env[node.name] = found.value
        outer = (self.owner, self.env, self.class_outer, self.in_class_body)
        if not self.in_class_body:
            self.class_outer = self.env
        self.owner, self.env, self.in_class_body = found, self.env.copy(), True
        seen = dict(self.env)
        self.run(node.body)
        for name, value in self.env.items():
            if type(name) is str and seen.get(name) is not value and value is not UNKNOWN:
                found.attributes.setdefault(name, value)
        self.ends = None
        self.owner, self.env, self.class_outer, self.in_class_body = outer
        value = found.value
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            call = self.call(written, decorator, [value], {})
            call.decorates = found
        self.env[node.name] = value


def _compares(node: ast.Match) -> bool:
    """Whether the subject is surely compared with a value, if it is no sequence and no mapping."""
    for case in node.cases:
        patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
        for pattern in patterns:
            if isinstance(pattern, ast.MatchValue):
                return True
            if not isinstance(pattern, (ast.MatchSingleton, ast.MatchSequence, ast.MatchMapping)):
                return False
    return False
