"""Executions that a rewrite may remove, with the evidence already asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .pool import Entry, Key


@dataclass(slots=True)
class Drop:
    """How many executions of each key a rewrite may remove: rows of one key are interchangeable."""

    name: str
    formula: str
    spare: dict[Key, int] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, formula: str, entries: Iterable[Entry]) -> Drop:
        drop = cls(name, formula)
        for entry in entries:
            drop.spare[entry.key] = drop.spare.get(entry.key, 0) + entry.row.count
        return drop

    def take(self, key: Key, executions: int) -> int:
        """Up to that many executions; what is taken is no longer spare."""
        amount = min(self.spare.get(key, 0), executions)
        if amount:
            self.spare[key] -= amount
        return amount
