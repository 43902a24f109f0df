"""A mutation operator: a generator of edits that write one kind of fault into a file, for one rule."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .mutant import Edit
from .source import Function, Source
from .traced import STAGED, Jitted, arrays, jitted, statements, traced

Edits = tuple[Edit, ...]
HOST_CALLS = {"print", "open", "time.time", "time.perf_counter", "tqdm.tqdm"}
HOST_MODULES = ("absl.logging", "logging", "time", "os.path", "json", "tensorflow", "pathlib")
HOST_NAMES = ("main", "train", "fit", "run", "evaluate", "eval_loop", "train_loop", "generate", "predict")
SET_UP = ("init", "setup", "create", "make", "build", "load", "restore", "__init__")


class Site:
    """A file and what several operators ask about it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._arrays: dict[Function, dict[str, ast.stmt]] = {}

    @cached_property
    def jitted(self) -> list[Jitted]:
        return list(jitted(self.source))

    @cached_property
    def traced(self) -> set[Function]:
        return traced(self.source)

    @cached_property
    def staged(self) -> set[Function]:
        """Functions that are compiled: what they do on the host happens once."""
        return traced(self.source, STAGED)

    @cached_property
    def has_kernels(self) -> bool:
        """Whether the file writes Pallas kernels: their code is traced, whoever calls it."""
        return b"pallas" in self.source.data

    def arrays(self, function: Function) -> dict[str, ast.stmt]:
        """Names in a traced function that surely hold tracers, each with the statement that binds it."""
        if function not in self._arrays:
            self._arrays[function] = arrays(self.source, function)
        return self._arrays[function]

    @cached_property
    def tracers(self) -> list[tuple[Function, str, ast.stmt]]:
        """Every name that surely holds a tracer after a statement with lines of its own."""
        return [
            (function, name, stmt)
            for function in self.source.functions
            if function in self.traced
            for name, stmt in self.arrays(function).items()
            if self.source.alone(stmt)
        ]

    def is_traced(self, node: ast.AST) -> bool:
        return any(above in self.traced for above in (node, *self.source.above(node)))

    @cached_property
    def host(self) -> list[Function]:
        """Functions that surely run on the host: not traced, and they print, log, keep time or have a host's name."""
        return [each for each in self.source.functions if not self.is_traced(each) and self._is_host(each)]

    def _is_host(self, function: Function) -> bool:
        if function.name in HOST_NAMES:
            return True
        names = (self.source.dotted(n.func) or "" for n in ast.walk(function) if isinstance(n, ast.Call))
        return any(name in HOST_CALLS or name.startswith(HOST_MODULES) for name in names)

    @cached_property
    def _called_in_loops(self) -> set[str]:
        """Names, of functions and methods, that loops of the file outside of traced code call."""
        loops = [
            each for each in self.source.nodes if isinstance(each, (ast.For, ast.While)) and not self.is_traced(each)
        ]
        calls = [n.func for loop in loops for stmt in loop.body for n in ast.walk(stmt) if isinstance(n, ast.Call)]
        return {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in calls}

    def comes_back(self, node: ast.AST) -> bool:
        """Whether code runs again and again: in a loop, or in a function that a loop of the file calls."""
        if any(isinstance(above, (ast.For, ast.While)) for above in self.source.above(self.source.statement(node))):
            return True
        function = self.source.function(node)
        return function is not None and function.name in self._called_in_loops

    def loops(self, function: Function) -> Iterator[ast.For]:
        """`for` loops of this function itself."""
        return (stmt for stmt in statements(self.source, function) if isinstance(stmt, ast.For))


@dataclass(frozen=True, slots=True)
class Operator:
    """`find` yields one tuple of edits for every place where the fault can be written."""

    rule: str
    name: str
    find: Callable[[Site], Iterator[Edits]]


OPERATORS: list[Operator] = []


def operator(rule: str) -> Callable[[Callable[[Site], Iterator[Edits]]], Callable[[Site], Iterator[Edits]]]:
    """Registers a generator as an operator for this rule, under its own name."""

    def register(find: Callable[[Site], Iterator[Edits]]) -> Callable[[Site], Iterator[Edits]]:
        OPERATORS.append(Operator(rule, find.__name__.replace("_", "-"), find))
        return find

    return register
