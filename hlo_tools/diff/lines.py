"""Which source line of one program is which of the other, so that code that only moved is no change.

Operations with one meaning vote: where a meaning stands at the same lines in both, these are the same lines; where it
stands at as many others, they pair up in their order. A line that nobody votes for moves with the one before it in its
file, where that leads to a line of the other program; else it is itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .census import Census
from .place import Place

# A meaning that stands at more lines than this (a plain addition) tells nothing about any of them.
_TOO_COMMON = 64


class Lines:
    """Translates places of B into words of A, and back for what is shown."""

    __slots__ = ("_places", "_to_a", "_to_b")

    def __init__(self, a: Census, b: Census) -> None:
        votes = _votes(a, b)
        self._to_a: dict[str, str] = {}
        self._to_b: dict[str, str] = {}
        self._places: dict[Place, Place] = {}
        for there, here, _ in sorted(_ranked(votes), key=lambda vote: (-vote[2], vote[0], vote[1])):
            if there not in self._to_a and here not in self._to_b:
                self._to_a[there] = here
                self._to_b[here] = there
        for there, here in _by_neighbours(self._to_a, _all(a), _all(b)):
            if here not in self._to_b:
                self._to_a[there] = here
                self._to_b[here] = there

    def in_a(self, place: Place) -> Place:
        """A place of B as A names it."""
        known = self._places.get(place)
        if known is None:
            source = place.source
            known = place if source is None else place._replace(source=self._to_a.get(source, source))
            self._places[place] = known
        return known

    def line_in_a(self, source: str | None) -> str | None:
        """The line of A that is `source` in B."""
        return None if source is None else self._to_a.get(source, source)

    def in_b(self, source: str | None) -> str | None:
        """The line of B that is `source` in A; itself where nothing says otherwise."""
        return None if source is None else self._to_b.get(source, source)


def _votes(a: Census, b: Census) -> dict[str, Counter[str]]:
    votes: dict[str, Counter[str]] = {}
    for key, theirs in b.operations.items():
        ours = a.operations.get(key)
        if ours is None:
            continue
        mine, others = _sources(ours), _sources(theirs)
        if max(len(mine), len(others)) > _TOO_COMMON:
            continue
        same = mine.keys() & others.keys()
        for source in same:
            votes.setdefault(source, Counter())[source] += 2 * others[source]
        left = sorted((s for s in mine if s not in same), key=_order)
        right = sorted((s for s in others if s not in same), key=_order)
        if len(left) == len(right):
            for here, there in zip(left, right, strict=True):
                votes.setdefault(there, Counter())[here] += 1
    return votes


def _ranked(votes: dict[str, Counter[str]]) -> Iterable[tuple[str, str, int]]:
    for there, found in votes.items():
        for here, count in found.items():
            yield there, here, count


def _sources(tallies: dict) -> dict[str, int]:
    found: dict[str, int] = {}
    for place in tallies:
        if place.source is not None:
            found[place.source] = found.get(place.source, 0) + 1
    return found


def _all(made: Census) -> dict[str, int]:
    """Every line that an operation stands at."""
    found: dict[str, int] = {}
    for tallies in made.operations.values():
        found |= _sources(tallies)
    return found


def _by_neighbours(known: dict[str, str], mine: dict[str, int], theirs: dict[str, int]) -> list[tuple[str, str]]:
    """(line of B, line of A) of lines that moved as far as the nearest known one above them."""
    found: list[tuple[str, str]] = []
    above: tuple[str, str, int] | None = None
    for there in sorted(theirs, key=_order):
        path, line = _order(there)
        if there in known:
            here, number = _order(known[there])
            above = (path, here, number - line)
        elif above is not None and above[0] == path:
            here = f"{above[1]}:{line + above[2]}"
            if here in mine:
                found.append((there, here))
    return found


def _order(source: str) -> tuple[str, int]:
    path, _, line = source.rpartition(":")
    return path, int(line) if line.isdecimal() and len(line) < 19 else 0
