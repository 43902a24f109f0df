"""Functions that the settings name as traced: which of the names are names of nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from ...contracts.suggest import nearest
from .modules import module_names
from .parse import parse
from .text import SourceText

_WILD = frozenset("*?[")


def unmatched(patterns: Sequence[str], sources: Sequence[SourceText], whole: bool) -> dict[str, str | None]:
    """Patterns of ids (`pkg.module:Layer.forward`) that no function of `sources` has, each with the nearest id.

    Where the sources are not the `whole` project, only those are judged whose module is among them.
    """
    if not patterns:
        return {}
    named = [(name, source) for source, (name, _) in zip(sources, module_names(sources), strict=True)]
    found: dict[str, str | None] = {}
    for pattern in patterns:
        module, colon, function = pattern.partition(":")
        told = bool(colon) and _WILD.isdisjoint(module)
        there = [(name, source) for name, source in named if not colon or fnmatchcase(name, module)]
        if not (whole or (told and there)) or _some(pattern, function, there):
            continue
        # A whole name is like many others that begin as it does: its parts are compared.
        if told and there:
            here = [id.partition(":")[2] for name, source in there for id in _functions(name, source)]
            near = nearest(function, here)
            found[pattern] = None if near is None else f"{module}:{near}"
        else:
            near = nearest(module, [name for name, _ in named])
            meant = f"{near}:{function}"
            has = any(
                fnmatchcase(id, meant) for name, source in named if name == near for id in _functions(name, source)
            )
            found[pattern] = meant if has else None
    return found


def _some(pattern: str, function: str, there: Iterable[tuple[str, SourceText]]) -> bool:
    """Whether any function has an id like `pattern`; only files that write its name are parsed."""
    last = function.rpartition(".")[2].strip("<>")
    wanted = last if _WILD.isdisjoint(last) else ""
    return any(
        fnmatchcase(id, pattern) for name, source in there if wanted in source.text for id in _functions(name, source)
    )


def _functions(module: str, source: SourceText) -> Iterator[str]:
    """The id of every function of a file."""
    tree = parse(source)
    if not isinstance(tree, ast.Module):
        return
    waiting: list[tuple[ast.AST, str]] = [(tree, f"{module}:")]
    while waiting:
        node, before = waiting.pop()
        for child in ast.iter_child_nodes(node):
            within = before
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
                if not isinstance(child, ast.ClassDef):
                    yield before + name
                within = f"{before}{name}."
            waiting.append((child, within))
