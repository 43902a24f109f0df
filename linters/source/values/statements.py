"""Statements: which one is run by what, and where paths part, meet and end."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..records import Block, Branch, Return
from .assigned import assigned_in
from .loops import Loops
from .state import Env
from .value import NONE, Value


class Statements(Loops):
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
