"""Loops that were unrolled: the same executions in more or fewer rows, where both programs have as many of them."""

from __future__ import annotations

from collections.abc import Iterator

from .explanation import Rewritten
from .pool import Entry, Key, Pool, shares_of
from .rewrites.combined import was_combined
from .rewrites.spelling import Spelling
from .spelled import admitted, choices, ignoring

NAME = "unrolled"
FORMULA = "the same executions in more or fewer rows"


def unrolled(before: Pool, after: Pool) -> Iterator[Rewritten]:
    """Pairs what is left across rows, the fewest spellings first."""
    for spellings in choices():
        yield from _paired(before, after, spellings)


def _paired(before: Pool, after: Pool, spellings: tuple[Spelling, ...]) -> Iterator[Rewritten]:
    balance: dict[Key, int] = {}
    # Partners that look the same stand in one list, the first in the program last.
    right: dict[Key, dict[tuple[Key, bool], list[Entry]]] = {}
    for entry in before.open():
        group = ignoring(entry.key, spellings)
        balance[group] = balance.get(group, 0) + entry.left
    for entry in reversed(list(after.open())):
        group = ignoring(entry.key, spellings)
        balance[group] = balance.get(group, 0) - entry.left
        right.setdefault(group, {}).setdefault((entry.key, entry.padded), []).append(entry)
    for old in before.open():
        group = ignoring(old.key, spellings)
        if balance[group]:
            continue
        for partners in right.get(group, {}).values():
            if not partners or not admitted(old, partners[-1], spellings):
                continue
            while partners and old.left:
                new = partners[-1]
                amount = min(old.left, new.left)
                yield _pair(old, new, amount, spellings)
                if not new.left:
                    partners.pop()


def _pair(old: Entry, new: Entry, amount: int, spellings: tuple[Spelling, ...]) -> Rewritten:
    names = [*(spelling.name for spelling in spellings), NAME]
    formulas = [*(spelling.formula for spelling in spellings), FORMULA]
    if was_combined(new.row) and not was_combined(old.row):
        names.append("combined")
    return Rewritten(tuple(names), shares_of([old], amount), shares_of([new], amount), "; ".join(formulas))
