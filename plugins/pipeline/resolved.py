"""Values that follow from a contract, with the formula of each: the `resolved` block of a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...contracts.load import LoadedContract


@dataclass(frozen=True, slots=True)
class ResolvedRow:
    """One derived value of one contract."""

    contract: str
    key: str
    value: Any
    formula: str


def resolved_rows(contracts: Iterable[LoadedContract]) -> tuple[ResolvedRow, ...]:
    """All derived values, contract by contract; an invalid contract has none."""
    return tuple(
        ResolvedRow(loaded.path, str(row.key), row.value, row.formula)
        for loaded in contracts
        for row in loaded.resolved()
    )
