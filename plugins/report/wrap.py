"""Lines of a given width: paths are broken only after a `/`, and what somebody will copy is not broken at all."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[^/]*/|[^/]+")
# What stays on one line: anything in backquotes, YAML in braces, and a command up to the end of its clause.
_WHOLE = re.compile(
    r"`[^`\n]*`\S*"
    r"|\{ [^\n]* \}\S*"
    r"|(?:pip install|contract-lint [a-z]+|nvidia-smi|write --\w+)(?: '[^'\n]*'| [^\s,;()]+)*\S*"
    r"|[\d.,]+ [KMGTP]?i?B\b\S*"
    r"|\S+"
)


def broken(text: str, width: int) -> str:
    """`text` on lines of at most `width` characters, joined by line breaks.

    A word longer than a line is broken after its slashes; a piece between two slashes that is longer still stays whole.
    """
    lines = [""]
    for word in text.split(" "):
        glued = f" {word}" if lines[-1] else word
        if len(lines[-1]) + len(glued) <= width:
            lines[-1] += glued
        elif len(word) <= width:
            lines.append(word)
        else:
            _append(lines, word, width)
    return "\n".join(lines)


def sentences(text: str, width: int, hanging: str = "") -> str:
    """Each line of `text` on lines of at most `width` characters; those that follow begin as it does, plus `hanging`.

    Commands, backquoted words and YAML in braces are never broken: one that is longer than a line has one of its own.
    """
    lines = []
    for line in text.split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        begin = line[: len(line) - len(line.lstrip(" "))]
        current = begin
        for word in _WHOLE.findall(line):
            if current.strip() and len(current) + 1 + len(word) > width:
                lines.append(current)
                current = begin + hanging
            current += f" {word}" if current.strip() else word
        lines.append(current)
    return "\n".join(lines)


def _append(lines: list[str], word: str, width: int) -> None:
    """A word that fits on no line, piece by piece from the end of the current line on."""
    glue = " " if lines[-1] else ""
    for piece in _PIECE.findall(word):
        if len(lines[-1]) + len(glue) + len(piece) <= width:
            lines[-1] += glue + piece
        elif lines[-1]:
            lines.append(piece)
        else:
            lines[-1] = piece
        glue = ""
