"""One value is gathered, summed or sent twice.

## What it does
Finds collectives of one kind, in one computation, among the same devices, whose operands are the same value, seen
through copies, conversions and reshapes.

## Why is this bad?
The second one moves data that every device has already. XLA's common subexpression elimination leaves collectives of
different channels apart, so nothing promises that a later pass merges them.

## Example
```text
g1 = f32[4096] all-gather(x), channel_id=1, replica_groups=[1,8]<=[8], dimensions={0}
g2 = f32[4096] all-gather(x), channel_id=2, replica_groups=[1,8]<=[8], dimensions={0}
```

## Use instead
```python
whole = jax.lax.with_sharding_constraint(x, P())    # once, used twice
```

## What stays clean
Other operands, other groups, another dimension or reduction; a parameter that is gathered in the forward pass and
again in the backward pass or by `jax.checkpoint`, which saves the memory to keep it whole (without metadata nobody can
tell, and the finding is advice); copies of one asynchronous
collective that TPU fusions print.

## References
- https://github.com/openxla/xla/issues/40135
- https://github.com/jax-ml/jax/issues/25010
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.collectives import Collective
from ....hlo_tools.scope import is_backward, is_recomputed
from ...cut import shown
from ...program.duplicates import duplicates
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, cost, details, line_of, names, over, place_of, subject_of, together


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    if evidence.module is None:
        return
    again_of: list[tuple[Collective, Collective]] = []
    for first_name, again_name, computation in duplicates(evidence.module):
        first = evidence.by_name.get((computation, first_name))
        again = evidence.by_name.get((computation, again_name))
        if first is not None and again is not None and not _on_purpose(first, again):
            again_of.append((first, again))
    for found in together(again_of, lambda pair: (alike(pair[1]), _is_named(*pair))):
        rows = [again for _, again in found]
        sure = evidence.is_final and _is_named(*found[0])
        yield RULE.finding(
            f"{over(rows[0])} repeats one of the same value ({names(rows)}): {cost(rows)} for what is there already",
            subject=subject_of(rows[0]),
            severity="warning" if sure else "info",
            confidence="certain" if sure else "likely",
            location=place_of(rows[0]),
            instruction=rows[0].name,
            expected="one for each value",
            found=f"{len(rows):,} more",
            evidence=shown(_both(first, again) for first, again in found),
            help="make the value once and use it twice" + _but(evidence.is_final, _is_named(*found[0])),
            details=details(rows),
        )


def _on_purpose(first: Collective, again: Collective) -> bool:
    """Whether just one of them is of the backward pass, or recomputed by `jax.checkpoint`: to gather a parameter again
    there is how sharded parameters save memory."""
    names = first.scope, again.scope
    return is_recomputed(names[0]) != is_recomputed(names[1]) or is_backward(names[0]) != is_backward(names[1])


def _is_named(first: Collective, again: Collective) -> bool:
    """Whether the program says of both gathers which pass they are of; nothing else is repeated on purpose."""
    return first.kind != "all-gather" or bool(first.scope and again.scope)


def _but(is_final: bool, is_named: bool) -> str:
    if not is_final:
        return "; the program is not optimised yet, later passes may merge them"
    return "" if is_named else "; without metadata this may as well be a parameter gathered for the backward pass"


def _both(first: Collective, again: Collective) -> str:
    sent = format_bytes(again.ring_bytes)
    return f"%{first.name} {line_of(first)}, %{again.name} {line_of(again)}: {sent}"


RULE = Rule(code="SHD501", name="repeated-value", severity="warning", evidence="dump", doc=__doc__ or "", check=check)
