"""From the partitioned program to the optimised one: which named rewrites account for every collective of both.

Rows are paired whole, so that a collective moved out of a loop is not mistaken for a part of the one it came from.
Pairs are proposed in order of evidence: rows of the same place in the source before any others, and among these the
spellings (rows that agree, then those that agree once one spelling is ignored, then two, then three) before a move out
of a loop. Sums behind the loop that accumulates them follow. What is left over may then change partners with others,
and last be removed: `dead`, `duplicate`, `reassociated`. Each rewrite asks for its own evidence throughout. What
is still left are sums of sums, parts of rows, loops that were unrolled (the same executions, spread over more rows) and
sums in two steps. Linear in the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..collectives import CollectiveLedger
from .canonical import canonical_ledger
from .concatenated import separated
from .drop import Drop
from .explanation import Explanation, Rewritten
from .hierarchical import in_one_step
from .matching import Matching
from .pool import Pool, Share, shares_of
from .proposals import propose
from .rewrites import DROPS
from .sum_of_sums import sums_of_sums
from .two_steps import in_two_steps
from .unrolled import unrolled


def explain(partitioned: CollectiveLedger, optimized: CollectiveLedger) -> Explanation:
    """Which rewrites lead from one ledger to the other, and what they leave over.

    Both ledgers are of the same step on the same mesh; canonical or as printed. Ledgers read with their modules (rows
    that know their instruction) give the evidence some rewrites need.
    """
    asked = canonical_ledger(partitioned)
    before = Pool.of(separated(asked))
    after = Pool.of(separated(in_one_step(canonical_ledger(optimized), asked)))
    matching = Matching(before, after)
    for old, new, relation in propose(before, after):
        matching.pair(old, new, relation)
    matching.exchange([])
    drops = [drop(before) for drop in DROPS] if any(before.open()) else []
    matching.exchange(drops)
    steps = [*matching.steps(), *sums_of_sums(before, after), *_removed(before, drops), *unrolled(before, after)]
    steps += in_two_steps(before, after)
    return Explanation(tuple(steps), _left(before), _left(after))


def _removed(before: Pool, drops: list[Drop]) -> Iterator[Rewritten]:
    """Removes what may be removed of rows that no whole removal fits."""
    for drop in drops:
        for key, entries in before.by(lambda entry: entry.key).items():
            amount = drop.take(key, sum(entry.left for entry in entries))
            if amount:
                yield Rewritten((drop.name,), shares_of(entries, amount), (), drop.formula)


def _left(pool: Pool) -> tuple[Share, ...]:
    return tuple(Share(entry.row, entry.left) for entry in pool.open())
