"""From the partitioned program to the optimised one: which named rewrites account for every collective of both.

First the spellings, which keep executions and elements: rows that agree are paired, then those that agree once one
spelling is ignored, then two, then three. Rows are paired whole, so that a collective moved out of a loop is not
mistaken for a part of the one it came from. What is left is offered to the rewrites that change counts, each of which
asks for its own evidence in the partitioned program. Last come loops that were unrolled: the same executions, spread
over more rows. Linear in the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from ..collectives import CollectiveLedger
from .canonical import canonical_ledger
from .explanation import Explanation, Rewritten
from .pool import Entry, Key, Pool, Share, shares_of
from .rewrites import REMOVALS, SPELLINGS
from .rewrites.combined import was_combined
from .rewrites.spelling import Spelling


def explain(partitioned: CollectiveLedger, optimized: CollectiveLedger) -> Explanation:
    """Which rewrites lead from one ledger to the other, and what they leave over.

    Both ledgers are of the same step on the same mesh; canonical or as printed. Ledgers read with their modules (rows
    that know their instruction) give the evidence some rewrites need.
    """
    before, after = Pool.of(canonical_ledger(partitioned)), Pool.of(canonical_ledger(optimized))
    steps = [*_spelled(before, after, whole=True)]
    for rewrite in REMOVALS:
        steps += rewrite(before, after)
    steps += _spelled(before, after, whole=False)
    return Explanation(tuple(steps), _left(before), _left(after))


def _left(pool: Pool) -> tuple[Share, ...]:
    return tuple(Share(entry.row, entry.left) for entry in pool.open())


def _spelled(before: Pool, after: Pool, whole: bool) -> Iterator[Rewritten]:
    for number in range(len(SPELLINGS) + 1):
        for spellings in combinations(SPELLINGS, number):
            yield from _paired(before, after, spellings, whole)


def _paired(before: Pool, after: Pool, spellings: tuple[Spelling, ...], whole: bool) -> Iterator[Rewritten]:
    """Pairs of rows that are the same once these spellings are ignored, and differ in each of them.

    `whole`: both rows have the same number of executions left. Else executions are paired across rows, where both
    programs have as many of them.
    """

    def group(entry: Entry) -> tuple[Key, int]:
        key = entry.key
        for spelling in spellings:
            key = spelling.ignore(key)
        return key, entry.left if whole else 0

    right: dict[tuple[Key, int], dict[Key, list[Entry]]] = {}
    for entry in reversed(list(after.open())):
        right.setdefault(group(entry), {}).setdefault(entry.key, []).append(entry)
    uneven = set() if whole else _uneven(before, after, group)
    for entry in before.open():
        if group(entry) in uneven:
            continue
        for key, partners in right.get(group(entry), {}).items():
            if not all(spelling.admits(entry.key, key) for spelling in spellings):
                continue
            while partners and entry.left:
                amount = min(entry.left, partners[-1].left)
                yield _pair(entry, partners[-1], amount, spellings, whole)
                if not partners[-1].left:
                    partners.pop()


def _uneven(before: Pool, after: Pool, group: Callable[[Entry], tuple[Key, int]]) -> set[tuple[Key, int]]:
    """The groups that have more executions left on one side than on the other."""
    balance: dict[tuple[Key, int], int] = {}
    for pool, sign in ((before, 1), (after, -1)):
        for entry in pool.open():
            balance[group(entry)] = balance.get(group(entry), 0) + sign * entry.left
    return {key for key, difference in balance.items() if difference}


def _pair(old: Entry, new: Entry, amount: int, spellings: tuple[Spelling, ...], whole: bool) -> Rewritten:
    names = [spelling.name for spelling in spellings]
    formulas = [spelling.formula for spelling in spellings]
    if not whole:
        names.append("unrolled")
        formulas.append("the same executions in more or fewer rows")
    if was_combined(new.row) and not was_combined(old.row):
        names.append("combined")
    formula = "; ".join(formulas) or "the same executions and elements"
    return Rewritten(tuple(names), shares_of([old], amount), shares_of([new], amount), formula)
