"""Counts of one meaning on both sides, and the places that its difference is put down to.

Equal sums are no change, wherever they stand: a collective that the next compiler blames on another line is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Where = TypeVar("Where")


@dataclass(frozen=True, slots=True)
class Surplus(Generic[Key, Where]):
    """`count` more executions of `key` at `where`: in B where positive, in A where negative."""

    key: Key
    where: Where
    count: int


def surpluses(
    a: Mapping[Key, Mapping[Where, int]], b: Mapping[Key, Mapping[Where, int]]
) -> Iterable[Surplus[Key, Where]]:
    """What one side has more of. Of a key, only places that differ in the direction of its whole are named, and no more
    than the whole: the largest first."""
    for key in dict.fromkeys((*a, *b)):
        mine: Mapping[Where, int] = a.get(key, {})
        theirs: Mapping[Where, int] = b.get(key, {})
        left = sum(theirs.values()) - sum(mine.values())
        if not left:
            continue
        sign = 1 if left > 0 else -1
        apart = [(where, theirs.get(where, 0) - mine.get(where, 0)) for where in dict.fromkeys((*mine, *theirs))]
        for where, count in sorted((item for item in apart if item[1] * sign > 0), key=lambda item: -abs(item[1])):
            taken = min(abs(count), abs(left))
            yield Surplus(key, where, taken * sign)
            left -= taken * sign
            if not left:
                break
