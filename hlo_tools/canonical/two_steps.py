"""Sums over two axes that became one sum over each: the first where it was asked for, the second there or further out.

The second sum is over what the first has scattered. It may run once for several of them: for all rounds of a loop that
adds or stacks its results, and for arrays that are laid into one. Then it holds just as many elements as they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .explanation import Rewritten
from .pool import Entry, Pool, shares_of
from .rewrites.accumulated import FORMULA as ADDED_UP
from .rewrites.accumulated import NAME as ADDING_UP
from .rewrites.accumulated import fits
from .rewrites.combined import was_combined
from .rewrites.scattered import FORMULA, NAME, scattered

_MOST_TRIED = 16
"""Partners of each kind that are tried for one row, so that a hostile program costs linear time."""

Sums = dict[tuple[str, int, str], list[Entry]]
"""What is left of scatters in the optimised program, by kind, elements of one execution and dtype."""


class First(NamedTuple):
    """A sum and the scatter that its first step is; `part` elements of each execution are left for the second."""

    old: Entry
    inner: Entry

    @property
    def part(self) -> int:
        return self.old.key.each // self.inner.row.group_size


def in_two_steps(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Explains what is left of sums by what is left of scatters and sums."""
    sums: Sums = after.by(lambda entry: (entry.key.kind, entry.key.each, entry.key.dtype))
    seconds = [entry for entry in after.open() if entry.key.kind == "all-reduce"]
    for alone in (_is_as_often, _is_added_up, _is_same):
        for old in before.open():
            left = (outer for outer in seconds if outer.left and outer.key.dtype == old.key.dtype)
            for outer in islice(left, _MOST_TRIED):
                first = _first(old, outer, sums)
                if first is not None and alone(first, outer):
                    yield _rewritten([first], outer)
                    break
    for outer in seconds:
        if outer.whole:
            like = (old for old in before.open() if old.key.dtype == outer.key.dtype)
            firsts = _filling(outer, islice(like, _MOST_TRIED), sums)
            if firsts:
                yield _rewritten(firsts, outer)


def _first(old: Entry, outer: Entry, sums: Sums, taken: frozenset[int] = frozenset()) -> First | None:
    """The scatter left that is the first step of this sum, where `outer` is the second."""
    for inner in islice(sums.get(("reduce-scatter", old.key.each, old.key.dtype), ()), _MOST_TRIED):
        free = inner.left and id(inner) not in taken
        if free and old.key.each % inner.row.group_size == 0 and scattered(old, inner, outer):
            return First(old, inner)
    return None


def _is_same(first: First, outer: Entry) -> bool:
    return outer.key.each == first.part


def _is_as_often(first: First, outer: Entry) -> bool:
    return _is_same(first, outer) and outer.left == first.old.left == first.inner.left


def _is_added_up(first: First, outer: Entry) -> bool:
    """Whether the second step stands behind the loop that adds up, or stacks, what the first leaves."""
    old = first.old
    return (
        old.whole
        and first.inner.left == old.left
        and outer.whole
        and outer.row.loop_depth < old.row.loop_depth
        and fits(first.part, old.row.count, outer.key.each, outer.row.count)
    )


def _filling(outer: Entry, olds: Iterator[Entry], sums: Sums) -> list[First]:
    """Sums whose parts, all rounds of them, make up the array of a second step exactly."""
    found: list[First] = []
    missing = outer.row.elements
    for old in olds:
        first = _first(old, outer, sums, frozenset(id(one.inner) for one in found))
        if first is not None and first.inner.left == old.left and first.part * old.left <= missing:
            found.append(first)
            missing -= first.part * old.left
    return found if not missing else []


def _rewritten(firsts: list[First], outer: Entry) -> Rewritten:
    """Takes what is left of all; where one sum stays in its place, as many executions as all three have left."""
    rounds, taken = outer.left, [first.old.left for first in firsts]
    behind = any(first.old.row.loop_depth > outer.row.loop_depth for first in firsts)
    if len(firsts) == 1 and not (behind and _is_added_up(firsts[0], outer)):
        rounds = min(rounds, firsts[0].old.left, firsts[0].inner.left)
        taken = [rounds]
    names, formula = [NAME], FORMULA
    if behind:
        names, formula = [NAME, ADDING_UP], f"{FORMULA}; {ADDED_UP}"
    if len(firsts) > 1 or any(was_combined(one.inner.row) and not was_combined(one.old.row) for one in firsts):
        names.append("combined")
    before = [share for one, n in zip(firsts, taken, strict=True) for share in shares_of([one.old], n)]
    after = [share for one, n in zip(firsts, taken, strict=True) for share in shares_of([one.inner], n)]
    return Rewritten(tuple(names), tuple(before), (*after, *shares_of([outer], rounds)), formula)
