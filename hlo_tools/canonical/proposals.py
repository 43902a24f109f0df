"""Pairs of whole rows in order of their evidence; whatever is proposed is taken.

First rows of the same place in the source: the name the program gave the operation, then the line of the user's code,
then any. A collective that travels with others bears the place of only one of them, so its place says nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from operator import neg

from .pool import MAX_CANDIDATES, Entry, Pool
from .relation import Relation
from .rewrites.accumulated import accumulated
from .rewrites.combined import was_combined
from .rewrites.hoisted import hoisted, respelled
from .rewrites.spelling import Spelling
from .rewrites.sum_spelling import SUMS
from .spelled import admitted, choices, ignoring, relation_of

Proposal = tuple[Entry, Entry, Relation]
Place = Callable[[Entry], Hashable]


def _scope(entry: Entry) -> Hashable:
    return None if was_combined(entry.row) else entry.row.scope or None


def _source(entry: Entry) -> Hashable:
    return None if was_combined(entry.row) else entry.row.source


def _anywhere(entry: Entry) -> Hashable:
    return True


_PLACES: tuple[Place, ...] = (_scope, _source, _anywhere)


def propose(before: Pool, after: Pool) -> Iterator[Proposal]:
    """Both rows of a proposal are whole, and the caller takes both before it asks for the next."""
    for place in _PLACES:
        for spellings in choices():
            yield from _spelled(before, after, place, spellings)
        yield from _hoisted(before, after, place)
    yield from _accumulated(before, after)


def _spelled(before: Pool, after: Pool, place: Place, spellings: tuple[Spelling, ...]) -> Iterator[Proposal]:
    """Rows that are the same once these spellings are ignored, and differ in each of them."""

    def group(entry: Entry) -> Hashable:
        return ignoring(entry.key, spellings), entry.row.count, place(entry)

    # Partners that look the same stand in one list, the first in the program last.
    right: dict[Hashable, dict[Hashable, list[Entry]]] = {}
    for entry in reversed(list(after.open())):
        if place(entry) is not None:
            right.setdefault(group(entry), {}).setdefault((entry.key, entry.padded), []).append(entry)
    if not right:
        return
    relation = relation_of(spellings)
    for old in before.open():
        for partners in right.get(group(old), {}).values():
            if partners and admitted(old, partners[-1], spellings):
                yield old, partners.pop(), relation
                break


def _hoisted(before: Pool, after: Pool, place: Place) -> Iterator[Proposal]:
    def group(entry: Entry) -> Hashable:
        return respelled(entry), place(entry)

    outside = after.by(group)
    for old in before.open():
        if not old.row.loop_depth or place(old) is None:
            continue
        partners = outside.get(group(old), [])
        if not partners or not old.invariant:
            continue
        for new in islice(partners, MAX_CANDIDATES):
            relation = hoisted(old, new)
            if relation is not None:
                yield old, new, relation
                partners.remove(new)
                break


def _accumulated(before: Pool, after: Pool) -> Iterator[Proposal]:
    """The largest array first, so that stacked arrays find their own: in the same place first, then the same size."""
    inside: dict[Hashable, dict[int, list[Entry]]] = {}
    # The first in the program stands last, where it is taken from.
    for old in reversed(list(before.open())):
        if old.key.kind in SUMS and old.row.loop_depth:
            for place in {old.row.scope, None}:
                inside.setdefault((old.key.axes, place), {}).setdefault(old.key.each, []).append(old)
    sizes = {group: sorted(found, reverse=True) for group, found in inside.items()}
    outside = [entry for entry in after.open() if entry.key.kind in SUMS]
    for new in sorted(outside, key=lambda entry: -entry.key.each):
        for group in ((new.key.axes, new.row.scope), (new.key.axes, None)):
            near = sizes.get(group, [])
            start = bisect_left(near, -new.key.each, key=neg)
            found = _origin((inside[group][each] for each in near[start : start + MAX_CANDIDATES]), new)
            if found is not None:
                yield found[0], new, found[1]
                break


def _origin(rows: Iterator[list[Entry]], new: Entry) -> tuple[Entry, Relation] | None:
    """The first row that may have become this one, of lists with one size each; rows that are taken leave the lists."""
    for olds in rows:
        if not olds or new.key.each % olds[0].key.each:
            continue
        while olds and not olds[-1].left:
            olds.pop()
        for old in islice(reversed(olds), MAX_CANDIDATES):
            relation = accumulated(old, new) if old.left else None
            if relation is not None:
                return old, relation
    return None
