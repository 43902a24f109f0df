"""A rewrite that keeps executions and elements and changes how a collective is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..pool import Entry, Key


@dataclass(frozen=True, slots=True)
class Spelling:
    """`ignore` maps a key to one that no longer shows the spelling; `admits(before, after)` is its direction and, where
    the spelling leaves a trace in the program, its evidence."""

    name: str
    formula: str
    ignore: Callable[[Key], Key]
    admits: Callable[[Entry, Entry], bool]
