"""Lines of a given width that keep paths readable: broken between words, and inside a word only after a `/`."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[^/]*/|[^/]+")


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
