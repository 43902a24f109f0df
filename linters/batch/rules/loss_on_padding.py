"""The loss counts padding.

## What it does
Finds targets that count (mask and weight are not 0; without either, the target is no id below 0) at padding, or that
are the padding id where that id is used for nothing else. Warns of padding where a contract lists no mask and no target
is below 0: then nothing but the step can leave it out.

## Why is this bad?
The model learns to predict padding, and the mean is divided by tokens that are none: it changes with the share of
padding, so runs with other bucket sizes cannot be compared.

## Example
```python
loss_mask = jnp.ones_like(targets)
```

## Use instead
```python
loss_mask = jnp.arange(targets.shape[1]) < lengths[:, None] - 1
```

## What stays clean
In rows padded on the left, the first token of the text as the target of the padding before it.

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....contracts.finding import Finding
from ....contracts.model import COUNTING
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of

if TYPE_CHECKING:
    import numpy


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch = evidence.batch
    counted, segments = batch.counted, batch.segments
    if evidence.data.counted.padding or segments is None:
        return
    if counted is None:
        yield from _nothing_says(evidence, segments)
        return
    wrong = (segments == 0) & (counted != 0)
    tokens, targets = batch.get("tokens"), batch.get("targets")
    if tokens is not None and targets is not None and batch.get("segment_ids") is None:
        begins = (segments[:, :-1] == 0) & (segments[:, 1:] != 0) & (targets[:, :-1] == tokens[:, 1:])
        wrong[:, :-1] &= ~begins
    if targets is not None and batch.pad_id is not None and batch.pad_id != batch.eos_id:
        wrong |= (targets == batch.pad_id) & (counted != 0)
    if not wrong.any():
        return
    total = int((counted != 0).sum())
    yield evidence.finding(
        RULE,
        f"{int(wrong.sum()):,} of {total:,} targets that count in the loss are padding (first: {at(first(wrong))})",
        subject=batch.counted_by,
        key="data.counted.padding" if evidence.loaded is not None else None,
        confidence="certain" if batch.segments_are_certain else "likely",
        expected=batch.not_counted("at padding"),
        found=batch.counts(first(wrong)),
        evidence=(*rows_of(wrong), *evidence.inferred),
        details={"count": int(wrong.sum()), "counted": total, "first": list(first(wrong))},
    )


def _nothing_says(evidence: BatchEvidence, segments: numpy.ndarray) -> Iterable[Finding]:
    """Padding among targets of a batch whose contract lists neither mask nor weights, and no id below 0 in it."""
    batch = evidence.batch
    targets = batch.get("targets")
    unsaid = evidence.data.batch_fields and not batch.roles.keys() & set(COUNTING)
    if targets is None or batch.tokens_hold_targets or not unsaid or not (segments == 0).any():
        return
    wrong = segments == 0
    yield evidence.finding(
        RULE,
        f"{int(wrong.sum()):,} of {wrong.size:,} targets are padding (first: {at(first(wrong))}), and nothing in the "
        "batch says that the loss leaves them out",
        subject=batch.name("targets"),
        key="data.counted.padding",
        severity="warning",
        confidence="likely",
        expected="a loss mask, or an id below 0 at padding",
        found=str(int(targets[first(wrong)])),
        evidence=tuple(rows_of(wrong)),
        help="give the step a mask, instead of letting it leave out the padding id; where it is to learn padding, "
        "promise `data.counted.padding: true`",
        details={"count": int(wrong.sum()), "counted": wrong.size, "first": list(first(wrong))},
    )


RULE = Rule(
    code="DAT608",
    name="loss-on-padding",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
