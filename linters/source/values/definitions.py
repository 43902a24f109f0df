"""Definitions: functions, classes and imports, whose bodies are run later or in a scope of their own."""

from __future__ import annotations

import ast

from ..records import Class
from ..removals import NOTED
from .assignments import Assignments
from .value import UNKNOWN


class Definitions(Assignments):
    """Makes functions and classes, and names what is imported."""

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
