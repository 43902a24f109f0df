"""A value is gathered whole, and each device uses one shard of it.

## What it does
Follows the result of an all-gather through moves, fusions and arithmetic to slices, and works out for every device
which part it takes: its own shard back, the shard of another device, or one shard that is the same for all.

## Why is this bad?
The devices receive n-1 shards for the sake of at most one. Their own they have, another's is one permute away, and one
for all is a broadcast. The whole also takes n times the memory of a shard.

## Example
```python
whole = with_sharding_constraint(x, P())                  # x is P("data")
mine = with_sharding_constraint(whole * 2, P("data"))     # each takes its own part back
```

## Use instead
```python
mine = with_sharding_constraint(x * 2, P("data"))
```

## What stays clean
A gather of which any use needs the whole, more than one shard, or a place that data decides (an embedding's rows, a
loop's counter).

## References
- https://github.com/jax-ml/jax/issues/20381
- https://github.com/openxla/xla/issues/42481
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...cut import shown
from ...rule import Rule
from ..cuts import Cut, Use, cuts
from ..evidence import DumpEvidence
from ..wording import alike, cost, details, names, over, place_of, subject_of, together

_USES: dict[Use, str] = {
    "own": "each device takes its own part back",
    "same": "all devices take one and the same part",
    "other": "each device takes the part of one other",
    "part": "each device takes one part",
}
_HELP: dict[Use, str] = {
    "own": "keep the value sharded between the two placements",
    "same": "slice first, then gather or broadcast the part",
    "other": "move the parts with one collective permute (`jax.lax.ppermute`)",
    "part": "slice first, or keep the value sharded",
}


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    wanted = (cut for cut in cuts(evidence) if cut.use in _USES)
    for found in together(wanted, lambda cut: (alike(cut.last), cut.use)):
        rows = [cut.last for cut in found]
        used = sum(cut.used_bytes * cut.last.count for cut in found)
        yield RULE.finding(
            f"{over(rows[0])}, of whose result {_USES[found[0].use]} ({names(rows)}): {cost(rows)}, "
            f"{format_bytes(used)} of it used",
            subject=f"{found[0].use}:{subject_of(rows[0])}",
            severity="warning" if evidence.is_final else "info",
            confidence="certain" if all(cut.certain for cut in found) else "likely",
            location=place_of(rows[0]),
            instruction=rows[0].name,
            expected="no more than the part that is used",
            found=f"{rows[0].group_size:,} parts",
            evidence=shown(_one(cut) for cut in found),
            help=_HELP[found[0].use],
            details=details(rows),
        )


def _one(cut: Cut) -> str:
    pieces = ", ".join(f"%{piece.piece.instruction.name} {piece.piece.instruction.shape.text}" for piece in cut.pieces)
    size = format_bytes(cut.last.result_bytes // cut.last.count)
    return f"%{cut.last.name}: {cut.last.count:,} x {size}, cut by {pieces}"


RULE = Rule(
    code="SHD503", name="gathered-for-a-part", severity="warning", evidence="dump", doc=__doc__ or "", check=check
)
