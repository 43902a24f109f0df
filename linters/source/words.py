"""The words that a text writes, as numbers: what names a thing has to write its name."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Iterable

from .pattern import Pattern

_WORD = Pattern(r"\w+")
_SIZE = 4
"""Bytes of a number. Words may share one: a text may then seem to write what it does not."""


def words_of(text: str) -> bytes:
    """The numbers of all words of a text, one after another."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)  # as Python reads names
    return b"".join(sorted({_number(word) for word in set(_WORD.findall(text))}))


def may_write(words: bytes | None, names: Iterable[str]) -> bool:
    """Whether a text with these words may write one of the names; None are the words of a text that is not known."""
    return words is None or any(_holds(words, _number(name)) for name in names)


def _number(word: str) -> bytes:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")).to_bytes(_SIZE, "big")


def _holds(words: bytes, number: bytes) -> bool:
    at = words.find(number)
    while at >= 0 and at % _SIZE:
        at = words.find(number, at + 1)
    return at >= 0
