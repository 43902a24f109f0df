"""Text to syntax tree, or the reason why not."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass

from .pattern import Pattern
from .text import SourceText
from .values.interpreter import deep_recursion

# Grammar that a newer Python brought, by what its text looks like.
_NEWER: tuple[tuple[tuple[int, int], Pattern], ...] = (
    ((3, 14), Pattern(r"^\s*except\s+[\w.]+\s*,|\bt[rR]?[\"']", re.MULTILINE)),
    ((3, 13), Pattern(r"^\s*(type|(async\s+)?def|class)\s+\w+\s*\[[^\]\n=]*=[^\]\n]*\]", re.MULTILINE)),
    ((3, 12), Pattern(r"^\s*type\s+\w+\s*(\[[^\n]*\])?\s*=|^\s*(async\s+)?(def|class)\s+\w+\s*\[", re.MULTILINE)),
    ((3, 12), Pattern(r"\b[fF][rR]?[\"'][^\n]*\{[^\n]*[\"'\\]", re.MULTILINE)),
)


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Why there is no tree. `needs` is the Python whose grammar the file seems to be written in, if newer than this."""

    reason: str
    line: int
    column: int | None = None
    needs: str | None = None


def parse(source: SourceText) -> ast.Module | Unparsed:
    """The tree of a file."""
    try:
        with warnings.catch_warnings(), deep_recursion():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, filename=source.path)
    except SyntaxError as error:
        line = error.lineno or 1
        return Unparsed(error.msg, line, error.offset, _needed(source.text, line))
    except (RecursionError, MemoryError):
        return Unparsed("expressions nest too deep for Python's own parser", 1)
    except ValueError as error:
        return Unparsed(str(error), 1)


def _needed(text: str, line: int) -> str | None:
    """The Python that knows the grammar used near a line, where that is newer than the one that runs."""
    lines = text.splitlines()
    near = "\n".join(lines[max(0, line - 2) : line + 1])
    for version, pattern in _NEWER:
        if version > sys.version_info[:2] and pattern.search(near):
            return f"{version[0]}.{version[1]}"
    return None
