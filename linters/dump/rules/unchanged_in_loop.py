"""A loop moves the same value in every round.

## What it does
Finds collectives in the body of a loop whose operands follow from constants and from what the loop hands on
unchanged.

## Why is this bad?
Every round sends what the round before has sent. XLA hoists most values out of loops, collectives it leaves.

## Example
```python
def body(carry, micro):
    whole = jax.lax.all_gather(w, "fsdp", tiled=True)     # w is the same in every round
    return carry + micro @ whole, None
```

## Use instead
```python
whole = jax.lax.all_gather(w, "fsdp", tiled=True)
total, _ = jax.lax.scan(lambda carry, micro: (carry + micro @ whole, None), zero, micros)
```
Outside of the loop the whole value takes memory for as long as the loop runs: where that does not fit, gathering it
in every round is what memory costs, and a contract (`collectives.expect`) says that it is meant.

## What stays clean
A layer's slice of stacked weights, which is another one each round; what the loop changes; random numbers; a loop of
one round.

## References
- https://github.com/openxla/xla/issues/36224
- https://github.com/openxla/xla/issues/6750
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.canonical.invariance import Unchanged, is_loop_invariant
from ....hlo_tools.collectives import Collective
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, cost, details, names, over, place_of, subject_of, together


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    known: Unchanged = {}
    found = [row for row in evidence.rows if _is_repeated(row, evidence, known)]
    for rows in together(found, alike):
        whole = sum(row.result_bytes // row.count for row in rows)
        yield RULE.finding(
            f"{over(rows[0])} moves the same value in every round of a loop ({names(rows)}): {cost(rows)}",
            subject=subject_of(rows[0]),
            location=place_of(rows[0]),
            instruction=rows[0].name,
            expected="once, before the loop",
            found="in a loop of unknown length"
            if rows[0].unknown_loops
            else f"{max(row.count for row in rows):,} times",
            evidence=shown(f"%{row.name} in %{row.computation}: {cost([row])}" for row in rows),
            help=f"move it in front of the loop, which its result ({format_bytes(whole)}) then has to outlive",
            details=details(rows),
        )


def _is_repeated(row: Collective, evidence: DumpEvidence, known: Unchanged) -> bool:
    if row.instruction is None or row.computation not in evidence.bodies:
        return False
    if row.count < 2 and not row.unknown_loops:
        return False
    return is_loop_invariant(row.instruction, known)


RULE = Rule(
    code="SHD502", name="unchanged-in-loop", severity="warning", evidence="dump", doc=__doc__ or "", check=check
)
