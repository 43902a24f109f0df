"""Regular expressions that are compiled when they are first used: a run needs few of those that all rules have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")


class Pattern:
    """`re.compile(text, flags)`, later."""

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[Any]]
    split: Callable[..., list[str]]
    sub: Callable[..., str]

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for each in _METHODS:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)
