"""Which whole row of the partitioned program became which row of the optimised one.

Proposals come in order of their evidence. No order is always right: a row may take the only partner of another and
leave its own free. So what is left over is offered an exchange: a row may take a partner that another row can give up,
because that one has a different partner or may be removed (an augmenting path, Berge 1957). After it no choice among
the same relations explains more rows.

Rows of one class (the same in everything a relation looks at) are interchangeable, so the search visits classes, each
once, and asks for a relation once for two classes. A class whose rows found nothing is not tried again: later exchanges
cannot help it. The work is bounded by the number of rows, so that a hostile program costs linear time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .drop import Drop
from .explanation import Rewritten
from .pool import Entry, Key, Pool
from .relation import Relation
from .rewrites import MOVES_OUT
from .rewrites.combined import was_combined
from .rewrites.hierarchical import was_in_steps
from .rewrites.sum_spelling import SUMS
from .spelled import spelled

# Classes and rows that may be looked at, for each row of both programs: more than a training step ever needs.
_WORK_PER_ROW = 64
_WORK_AT_LEAST = 1 << 16


class Class(NamedTuple):
    """All that a relation looks at in a row."""

    key: Key
    executions: int
    loop_depth: int
    evidence: bool
    """Of a partitioned row: the same in every round of its loop. Of an optimised one: a sum of zero-padded shards."""
    read_as: str
    """Of a partitioned row: the narrower type that all its readers convert it to."""


@dataclass(frozen=True, slots=True)
class Link:
    """A row and what became of it: another row, or nothing."""

    old: Entry
    new: Entry | None
    relation: Relation


def related(old: Entry, new: Entry) -> Relation | None:
    """The rewrites that lead from the one row to the other, the fewest first; None where no evidence allows any."""
    found = spelled(old, new)
    for rewrite in MOVES_OUT:
        found = found or rewrite(old, new)
    return found


class Matching:
    """Whole rows paired so far."""

    def __init__(self, before: Pool, after: Pool) -> None:
        self.before, self.after = before, after
        self._links: dict[int, Link] = {}
        self._taken: dict[int, Entry] = {}
        self._related: dict[tuple[int, int], Relation | None] = {}
        self._work = 0
        self._numbers: dict[Class, int] = {}
        self._classes: dict[int, int] = {}
        self._members: dict[int, list[Entry]] = {}
        self._near: dict[Hashable, dict[int, None]] = {}

    def pair(self, old: Entry, new: Entry, relation: Relation) -> None:
        """Both rows must be whole."""
        self._links[id(old)] = Link(old, new, relation)
        self._taken[id(new)] = old
        old.left = new.left = 0

    def drop(self, old: Entry, drop: Drop) -> None:
        """The row is removed; its executions are the drop's to give."""
        self._links[id(old)] = Link(old, None, Relation((drop.name,), drop.formula))
        old.left = 0

    def steps(self) -> Iterator[Rewritten]:
        """The pairs, in the order of the partitioned program."""
        for entry in self.before.entries:
            link = self._links.get(id(entry))
            if link is None:
                continue
            names = link.relation.names
            after = ()
            if link.new is not None:
                after = (link.new.share(link.new.row.count),)
                if was_combined(link.new.row) and not was_combined(entry.row):
                    names = (*names, "combined")
                if was_in_steps(link.new.row):
                    names = (*names, "hierarchical")
            yield Rewritten(names, (entry.share(entry.row.count),), after, link.relation.formula)

    def exchange(self, drops: list[Drop]) -> None:
        """Pairs or drops rows that are left over, re-pairing others where that makes room."""
        left = [entry for entry in self.before.open() if entry.whole]
        if not left:
            return
        self._index()
        self._work = max(_WORK_AT_LEAST, _WORK_PER_ROW * (len(self.before.entries) + len(self.after.entries)))
        hopeless: set[int] = set()
        for entry in left:
            kind = self._classes[id(entry)]
            if kind not in hopeless and not self._search(entry, drops):
                hopeless.add(kind)

    def _index(self) -> None:
        if self._classes:
            return
        for entry in self.before.entries:
            self._classes[id(entry)] = self._number(entry, entry.invariant, entry.read_as)
        for entry in self.after.entries:
            kind = self._number(entry, entry.padded, "")
            self._members.setdefault(kind, []).append(entry)
            self._near.setdefault((entry.key.axes, entry.key.each), {})[kind] = None
            if entry.key.kind in SUMS:
                self._near.setdefault(entry.key.axes, {})[kind] = None

    def _number(self, entry: Entry, evidence: bool, read_as: str) -> int:
        kind = Class(entry.key, entry.row.count, entry.row.loop_depth, evidence, read_as)
        return self._numbers.setdefault(kind, len(self._numbers))

    def _around(self, old: Entry) -> Iterator[int]:
        """The classes a row may be related to: the same axes and size, or a sum on these axes further out."""
        key = old.key
        yield from self._near.get((key.axes, key.each), ())
        if key.kind in SUMS and old.row.loop_depth:
            yield from self._near.get(key.axes, ())

    def _relation(self, old: Entry, kind: int) -> Relation | None:
        both = self._classes[id(old)], kind
        if both not in self._related:
            self._related[both] = related(old, self._members[kind][0])
        return self._related[both]

    def _search(self, start: Entry, drops: list[Drop]) -> bool:
        """Breadth first from a row that is left: the shortest chain of exchanges that ends in a free row or a drop."""
        # Of each class reached, one row, and the row that would take its partner.
        taker: dict[int, Entry | None] = {self._classes[id(start)]: None}
        tried: set[int] = set()
        pending = deque([start])
        while pending:
            old = pending.popleft()
            for drop in drops:
                if drop.spare.get(old.key, 0) >= old.row.count:
                    drop.take(old.key, old.row.count)
                    given_up = self._links.get(id(old))
                    self.drop(old, drop)
                    self._hand_on(old, given_up, taker)
                    return True
            for kind in self._around(old):
                self._work -= 1
                if self._work < 0:
                    return False
                relation = None if kind in tried else self._relation(old, kind)
                if relation is None:
                    continue
                tried.add(kind)
                for new in self._members[kind]:
                    self._work -= 1
                    if new.whole:
                        given_up = self._links.get(id(old))
                        self.pair(old, new, relation)
                        self._hand_on(old, given_up, taker)
                        return True
                    owner = self._taken.get(id(new))
                    if owner is not None and self._classes[id(owner)] not in taker:
                        taker[self._classes[id(owner)]] = old
                        pending.append(owner)
        return False

    def _hand_on(self, old: Entry, given_up: Link | None, taker: dict[int, Entry | None]) -> None:
        """A row has a new partner: the one it gave up goes to the row that asked for it, and so on to the start."""
        while given_up is not None and given_up.new is not None:
            asking = taker[self._classes[id(old)]]
            if asking is None:
                return
            new = given_up.new
            relation = related(asking, new)
            assert relation is not None, "the search asked for this very relation"
            old, given_up = asking, self._links.get(id(asking))
            self.pair(old, new, relation)
