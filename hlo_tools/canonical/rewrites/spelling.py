"""A rewrite that keeps executions and elements and changes how a collective is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..pool import Key


@dataclass(frozen=True, slots=True)
class Spelling:
    """`ignore` maps a key to one that no longer shows the spelling; `admits(before, after)` is its direction."""

    name: str
    formula: str
    ignore: Callable[[Key], Key]
    admits: Callable[[Key, Key], bool]
