"""The loss counts the first token of the next document as what follows the last one of this.

## What it does
In packed rows, finds the last token of a document whose target counts and is the first token of the next document.

## Why is this bad?
Documents are put side by side at random: nothing follows from one to the other. The model is trained on noise once a
document, and learns that its context may be unrelated.

## Example
```python
loss_mask = segment_ids != 0
```

## Use instead
```python
loss_mask = (segment_ids != 0) & (segment_ids == jnp.roll(segment_ids, -1, axis=1))
```

## What stays clean
A target that is the end id, put there in place of the neighbour's first token; rows in which every token may see all
before it (`data.attention.scope: row`); `data.counted.across_documents: true`.

## References
- https://github.com/pytorch/torchtitan/pull/4075
- https://github.com/alex-hh/profam/pull/504
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    batch = evidence.batch
    tokens, targets = batch.get("tokens"), batch.get("targets")
    counted, segments, starts = batch.counted, batch.segments, batch.starts
    if tokens is None or targets is None or counted is None or segments is None or starts is None:
        return
    if evidence.data.counted.across_documents or batch.get("segment_ids") is None:
        return
    if batch.targets_shifted_by == "model" or evidence.data.attention.scope == "row":
        return
    next_begins = numpy.zeros(starts.shape, bool)
    next_begins[:, :-1] = starts[:, 1:] & (segments[:, :-1] != 0)
    following = numpy.roll(tokens, -1, axis=1)
    wrong = next_begins & (targets == following) & (counted != 0)
    if batch.eos_id is not None:
        wrong &= targets != batch.eos_id
    if not wrong.any():
        return
    total = int(next_begins.sum())
    yield evidence.finding(
        RULE,
        f"{int(wrong.sum()):,} of {total:,} ends of documents count the first token of the next one (first: "
        f"{at(first(wrong))})",
        subject=batch.counted_by,
        key="data.counted.across_documents" if evidence.loaded is not None else None,
        expected=batch.not_counted("at the last token of a document"),
        found=batch.counts(first(wrong)),
        evidence=(*rows_of(wrong), *evidence.inferred),
        help="mask the last token of every document",
        details={"count": int(wrong.sum()), "documents": total, "first": list(first(wrong))},
    )


RULE = Rule(
    code="DAT609",
    name="loss-across-documents",
    severity="warning",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
