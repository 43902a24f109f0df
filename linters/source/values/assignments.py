"""Assignments: what names, attributes and elements are afterwards."""

from __future__ import annotations

import ast

from ..records import Store
from .expressions import Expressions
from .value import Value


class Assignments(Expressions):
    """Binds values."""

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
