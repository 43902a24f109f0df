"""Which rows of a partitioned program a compiler may drop, decided once for all rewrites so that none is counted
twice."""

from __future__ import annotations

from .pool import Entry, Key, Pool
from .provenance import is_unused, value_of


def unread(pool: Pool) -> list[Entry]:
    """Rows whose result nothing reads."""
    return [entry for entry in pool.entries if entry.row.instruction is not None and is_unused(entry.row.instruction)]


def repeated(pool: Pool) -> list[Entry]:
    """Rows that are read and communicate the same value as an earlier row that is read."""
    seen: set[tuple[Key, int]] = set()
    dropped = {id(entry) for entry in unread(pool)}
    found = []
    for entry in pool.entries:
        instruction = entry.row.instruction
        if instruction is None or id(entry) in dropped or len(instruction.operands) != 1:
            continue
        mark = (entry.key, id(value_of(instruction.operands[0])))
        if mark in seen:
            found.append(entry)
        seen.add(mark)
    return found


def distinct(pool: Pool) -> list[Entry]:
    """Rows that are read and the first to communicate their value."""
    dropped = {id(entry) for entry in (*unread(pool), *repeated(pool))}
    return [entry for entry in pool.entries if id(entry) not in dropped]
