"""A mutant: one real file with one fault written into it, and where a linter has to say so."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes start..end of the file become `text`. `marked`: the fault is seen here."""

    start: int
    end: int
    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Mutant:
    """What to change in which file, and the rule that has to find it."""

    package: str
    path: str
    rule: str
    operator: str
    edits: tuple[Edit, ...]

    @property
    def place(self) -> tuple[str, str]:
        return (self.package, self.path)


@dataclass(frozen=True, slots=True)
class Written:
    """A mutated file: its bytes and the lines, 1-based, on any of which the finding counts."""

    data: bytes
    lines: frozenset[int]


def write(mutant: Mutant, data: bytes) -> Written | None:
    """The file with the fault in it; None where it would not parse or edits overlap."""
    edits = sorted(mutant.edits, key=lambda edit: (edit.start, edit.end))
    if any(first.end > second.start for first, second in itertools.pairwise(edits)):
        return None
    parts: list[bytes] = []
    marks: list[tuple[int, int]] = []
    at = size = 0
    for edit in edits:
        new = edit.text.encode()
        parts += [data[at : edit.start], new]
        size += edit.start - at
        if edit.marked:
            inner = len(new) - len(new.lstrip())
            marks.append((size + inner, size + len(new.rstrip())))
        size += len(new)
        at = edit.end
    written = b"".join([*parts, data[at:]])
    try:
        tree = ast.parse(written)
    except (SyntaxError, ValueError):
        return None
    lines = {line for start, end in marks for line in _statement(tree, _line(written, start), _line(written, end))}
    return Written(written, frozenset(lines))


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _statement(tree: ast.Module, first: int, last: int) -> range:
    """The lines of the innermost simple statement or header around lines first..last."""
    best = range(first, last + 1)
    size = 1 << 30
    for start, end in _spans(tree):
        if start <= first <= end and end - start < size:
            best, size = range(start, max(end, last) + 1), end - start
    return best


def _spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, SIMPLE):
            yield node.lineno, node.end_lineno or node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first, max(first, node.body[0].lineno - 1)
        elif isinstance(node, (ast.If, ast.While, ast.For, ast.With)):
            yield node.lineno, max(node.lineno, node.body[0].lineno - 1)
