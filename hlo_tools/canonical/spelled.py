"""Pairs of rows with the same executions and elements, written differently."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from .pool import Entry, Key
from .relation import Relation
from .rewrites import SPELLINGS
from .rewrites.narrowed import NARROWED
from .rewrites.spelling import Spelling
from .rewrites.widened import WIDENED

SAME = "the same executions and elements"


def choices() -> Iterator[tuple[Spelling, ...]]:
    """No spelling, then each alone, then two, and so on; never one and its opposite."""
    for number in range(len(SPELLINGS) + 1):
        for chosen in combinations(SPELLINGS, number):
            if WIDENED not in chosen or NARROWED not in chosen:
                yield chosen


def ignoring(key: Key, spellings: tuple[Spelling, ...]) -> Key:
    """What is left of a key once these spellings are ignored."""
    for spelling in spellings:
        key = spelling.ignore(key)
    return key


def admitted(old: Entry, new: Entry, spellings: tuple[Spelling, ...]) -> bool:
    """Whether the rows differ in each of these spellings, in its direction and with its evidence."""
    return all(spelling.admits(old, new) for spelling in spellings)


def relation_of(spellings: tuple[Spelling, ...]) -> Relation:
    names = tuple(spelling.name for spelling in spellings)
    return Relation(names, "; ".join(spelling.formula for spelling in spellings) or SAME)


def spelled(old: Entry, new: Entry) -> Relation | None:
    """The relation of two rows with the same executions that differ in spelling alone."""
    if old.row.count != new.row.count or (old.key.axes, old.key.each) != (new.key.axes, new.key.each):
        return None
    for spellings in choices():
        if ignoring(old.key, spellings) == ignoring(new.key, spellings) and admitted(old, new, spellings):
            return relation_of(spellings)
    return None
