"""Positions do not run as promised: from 0 in every document, or from 0 in every row, one by one.

## What it does
Compares the position ids of every token that is no padding with its place in its document
(`data.packing.positions: segment`, the default) or in its row (`row`).

## Why is this bad?
With positions that run on, a document's embedding depends on what stands before it in the row, and attention code that
finds documents by positions finds none.

## Example
```python
batch = {"segment_ids": [[1, 1, 1, 2, 2]], "positions": [[0, 1, 2, 3, 4]]}
```

## Use instead
```python
batch = {"segment_ids": [[1, 1, 1, 2, 2]], "positions": [[0, 1, 2, 0, 1]]}
```

## What stays clean
Positions of padding; `positions: row` where a long context is meant.

## References
- https://github.com/huggingface/nanoVLM/pull/204
- https://github.com/ServiceNow/Fast-LLM/pull/177
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    batch = evidence.batch
    positions, segments, starts = batch.get("positions"), batch.segments, batch.starts
    if positions is None or segments is None or starts is None:
        return
    columns = numpy.broadcast_to(numpy.arange(positions.shape[1]), positions.shape)
    begin = numpy.maximum.accumulate(numpy.where(starts, columns, 0), axis=1)
    by_segment = batch.packing.positions == "segment"
    expected = columns - begin if by_segment else columns
    wrong = (positions != expected) & (segments != 0)
    if not wrong.any():
        return
    place = first(wrong)
    value, wanted = int(positions[place]), int(expected[place])
    at_starts = int((wrong & starts).sum())
    if by_segment and at_starts and (positions == columns)[segments != 0].all():
        total = int(starts.sum())
        said = (
            f"{at_starts:,} of {total:,} document{'s' * (total != 1)} begin at a position other than 0 (first: "
            f"{at(place)}: position {value}): positions run through the whole row"
        )
    else:
        said = (
            f"{int(wrong.sum()):,} of {int((segments != 0).sum()):,} tokens have another position than "
            f"{'in their document' if by_segment else 'in their row'} (first: {at(place)}: {value}, not {wanted})"
        )
    yield evidence.finding(
        RULE,
        said,
        subject=batch.name("positions"),
        key="data.packing.positions",
        confidence="certain" if batch.segments_are_certain else "likely",
        expected=str(wanted),
        found=str(value),
        evidence=tuple(rows_of(wrong)),
        help="count positions anew in every document" if by_segment else "count positions through the row",
        details={"count": int(wrong.sum()), "starts": at_starts, "first": list(place)},
    )


RULE = Rule(
    code="DAT604",
    name="positions-not-per-segment",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
