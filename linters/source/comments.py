"""The comments of Python source and the statements they belong to, told by tokens: no tree is needed."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .text import SourceText

_QUIET = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True)
class Layout:
    """`comments` as (line, column, text), 1-based; `statements` as (first line, last line) in the order of the file.

    A compound statement counts up to the end of its header, with its decorators; what is below is statements by itself.
    """

    comments: tuple[tuple[int, int, str], ...]
    statements: tuple[tuple[int, int], ...]

    def lines_of(self, line: int) -> range:
        """The lines that a comment on `line` is about: its statement, or the one below where it stands alone."""
        for first, last in self.statements:
            if last >= line:
                return range(min(first, line), last + 1) if first <= line else range(first, last + 1)
        return range(line, line + 1)


def layout(source: SourceText) -> Layout:
    """Comments and statements up to the first thing that is no Python token."""
    comments: list[tuple[int, int, str]] = []
    statements: list[tuple[int, int]] = []
    start: int | None = None
    decorated: int | None = None
    is_decorator = False
    for token in _tokens(line + "\n" for line in source.lines):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.start[1] + 1, token.string))
        elif token.type == tokenize.NEWLINE:
            if start is None:
                continue
            if is_decorator:
                decorated = start if decorated is None else decorated
            else:
                statements.append((start if decorated is None else decorated, token.start[0]))
                decorated = None
            start = None
        elif start is None and token.type not in _QUIET:
            start = token.start[0]
            is_decorator = token.type == tokenize.OP and token.string == "@"
    return Layout(tuple(comments), tuple(statements))


def _tokens(lines: Iterable[str]) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(iter(lines).__next__)
    except (tokenize.TokenError, SyntaxError):
        return
