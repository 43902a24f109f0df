"""Loops: what may differ from round to round, and what is left of it after the last."""

from __future__ import annotations

import ast
from typing import Any

from ..records import Block, Loop
from .assigned import Assigned, assigned_in
from .definitions import Definitions
from .state import Version
from .value import Value


class Loops(Definitions):
    """Runs the body of a loop once, for all of its rounds."""

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
            guard = loop.test = self.evaluate(test)
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
        outer = self.rebound - changed.names if self.rebound and changed.calls else ()
        for name in (*sorted(changed.names), *sorted(outer)):
            before = env.get(name)
            if name in outer:  # a call in a round may bind it again
                before = before or self.lookup(name, loop.node)
                if before.op in ("name", "function", "class", "unknown"):
                    continue
                if self.is_outer(name):
                    self.outer.add(name)
            if before is None and self.scope is not None and self.declared.get(name) == "nonlocal":
                before = self.scope.get(name)
            if before is not None:
                value = env[name] = Value("loop", loop.node, [before, before], loop)
                heads.append((name, value))
        self.module.heads.extend(value for _, value in heads)
        return heads
