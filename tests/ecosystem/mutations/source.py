"""A real file as mutation operators see it: its tree, dotted names through imports, and edits of its text.

Deliberately small and apart from the linter's own analysis: what decides where a fault can be written must not be what
decides whether it is found.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from .mutant import Edit

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """One parsed file. Offsets are in bytes, as `ast` counts columns."""

    def __init__(self, package: str, path: str, data: bytes) -> None:
        self.package, self.path, self.data = package, path, data
        self.tree = ast.parse(data)
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    @classmethod
    def read(cls, package: str, folder: Path, path: Path) -> Source | None:
        """The file, or None where this Python cannot parse it."""
        try:
            return cls(package, path.relative_to(folder).as_posix(), path.read_bytes())
        except (SyntaxError, ValueError):
            return None

    # Tree

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]

    @cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call of something with a name, with that name."""
        calls = (node for node in self.nodes if isinstance(node, ast.Call))
        return [(call, name) for call in calls if (name := self.dotted(call.func))]

    @cached_property
    def _calls_by_name(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call, name in self.calls:
            found.setdefault(name, []).append(call)
        return found

    def calls_of(self, name: str) -> list[ast.Call]:
        """The calls of what has this dotted name."""
        return self._calls_by_name.get(name, [])

    @cached_property
    def _functions_by_name(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            found.setdefault(function.name, []).append(function)
        return found

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Its parent, that one's parent, ... the module."""
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function that the node is in, unless a lambda or class comes between."""
        for above in self.above(node):
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return above
            if isinstance(above, (ast.Lambda, ast.ClassDef)):
                return None
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds the node (or is it)."""
        if isinstance(node, ast.stmt):
            return node
        return next(above for above in self.above(node) if isinstance(above, ast.stmt))

    def block(self, stmt: ast.stmt) -> list[ast.stmt]:
        """The statements beside it, itself among them."""
        parent = self.parents[stmt]
        for field in ("body", "orelse", "finalbody"):
            there = getattr(parent, field, None)
            if isinstance(there, list) and stmt in there:
                return there
        return [stmt]

    # Names

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Local name -> dotted name, over every import of the file."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for each in node.names:
                    found[each.asname or each.name.split(".")[0]] = (
                        each.name if each.asname else each.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        return found

    def dotted(self, node: ast.AST) -> str | None:
        """`jax.numpy.where` for `jnp.where`; a bare local name stays as it is; None for anything but names."""
        tail: list[str] = []
        while isinstance(node, ast.Attribute):
            tail.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.aliases.get(node.id, node.id), *reversed(tail)])

    def alias(self, module: str) -> str | None:
        """How the file itself writes `module`: np, jnp, jax.numpy, ..."""
        direct = next((local for local, dotted in self.aliases.items() if dotted == module), None)
        if direct is None and "." in module:
            head, tail = module.rsplit(".", 1)
            above = self.alias(head)
            return f"{above}.{tail}" if above else None
        return direct

    def definition(self, name: str, seen_from: ast.AST) -> Function | None:
        """The one function of that name defined where `seen_from` can see it, if there is exactly one there."""
        there = self._functions_by_name.get(name, [])
        scopes = [above for above in self.above(seen_from) if isinstance(above, (*_SCOPES, ast.Module))]
        for scope in scopes if there else ():
            found = [each for each in there if self._scope(each) is scope]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    def _scope(self, node: ast.AST) -> ast.AST:
        return next(above for above in self.above(node) if isinstance(above, (*_SCOPES, ast.ClassDef, ast.Module)))

    # Text and edits

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def span(self, node: Any) -> tuple[int, int]:
        """The offsets of any node that has a place."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def indent(self, stmt: ast.stmt) -> str:
        return self.data[self.offset(stmt.lineno, 0) : self.span(stmt)[0]].decode()

    def alone(self, stmt: ast.stmt) -> bool:
        """Whether the statement has its lines for itself: something can be written before and after it."""
        end_of_line = self.data.find(b"\n", self.span(stmt)[1])
        rest = self.data[self.span(stmt)[1] : end_of_line if end_of_line >= 0 else len(self.data)].strip()
        return not self.indent(stmt).strip() and (not rest or rest.startswith(b"#"))

    def replace(self, node: ast.AST, new: str, *, marked: bool = True) -> Edit:
        return Edit(*self.span(node), new, marked)

    def before(self, stmt: ast.stmt, *lines: str, marked: bool = True) -> Edit:
        """New lines above a statement, at its indentation."""
        decorators = getattr(stmt, "decorator_list", None) or [stmt]
        at = self.offset(min(stmt.lineno, decorators[0].lineno), 0)
        return Edit(at, at, "".join(f"{self.indent(stmt)}{line}\n" for line in lines), marked)

    def after(self, stmt: ast.stmt, *lines: str, marked: bool = True) -> Edit:
        """New lines below a statement, at its indentation."""
        line = bisect.bisect_left(self._starts, self.span(stmt)[1])
        at = self._starts[line] if line < len(self._starts) else len(self.data)
        begin = "\n" if at == len(self.data) and not self.data.endswith(b"\n") else ""
        return Edit(at, at, begin + "".join(f"{self.indent(stmt)}{each}\n" for each in lines), marked)

    def at_top(self, *lines: str, marked: bool = False) -> Edit:
        """New lines of the module after its imports (the first run of them)."""
        last = self.tree.body[0]
        for stmt in self.tree.body:
            if isinstance(stmt, (ast.Import, ast.ImportFrom)) or _is_text(stmt):
                last = stmt
            elif not isinstance(stmt, ast.Try):
                break
        return self.after(last, *lines, marked=marked)

    def name_of(self, module: str) -> tuple[str, tuple[Edit, ...]]:
        """How to write `module` here, and the import that this needs."""
        written = self.alias(module)
        if written:
            return written, ()
        return f"_{module.split('.')[-1]}", (self.at_top(f"import {module} as _{module.split('.')[-1]}"),)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)


def _is_text(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
