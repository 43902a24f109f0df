"""The same collective of the same value, written twice and done once (common subexpression elimination, `cse`).

Evidence: in the partitioned program two rows of one computation read the same instruction, copies aside. All but one
of them may go.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..explanation import Rewritten
from ..pool import Entry, Key, Pool, shares_of
from ..provenance import value_of

FORMULA = "n executions on one value -> 1"


def duplicate(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Removes what is left of rows that repeat another one."""
    spare: dict[Key, int] = {}
    seen: set[tuple[Key, int]] = set()
    for entry in before.entries:
        if entry.row.instruction is None or len(entry.row.instruction.operands) != 1:
            continue
        mark = (entry.key, id(value_of(entry.row.instruction.operands[0])))
        if mark in seen:
            spare[entry.key] = spare.get(entry.key, 0) + entry.row.count
        seen.add(mark)
    yield from removed(before, spare, "duplicate", FORMULA)


def removed(before: Pool, spare: dict[Key, int], name: str, formula: str) -> Iterator[Rewritten]:
    """Takes executions that are left, as many of each key as there is evidence for."""
    groups: dict[Key, list[Entry]] = before.by(lambda entry: entry.key)
    for key, entries in groups.items():
        amount = min(spare.get(key, 0), sum(entry.left for entry in entries))
        if amount:
            yield Rewritten((name,), shares_of(entries, amount), (), formula)
