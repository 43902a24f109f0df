"""How one row of the partitioned program may have become one row of the optimised one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """The rewrites that lead from the one row to the other; `formula` relates executions and elements of both."""

    names: tuple[str, ...]
    formula: str
