"""A document is in several pieces of its row, or padding stands before text.

## What it does
Looks, row by row, for segment ids that come back after another one, and for padding with text behind it.

## Why is this bad?
Code that finds documents by where the id changes sees several; code that compares ids sees one. Kernels that take
lengths (flash attention with a padding length, say) cut a row at the first padding.

## Example
```python
segment_ids = [[1, 1, 2, 2, 1, 0, 0]]
```

## Use instead
```python
segment_ids = [[1, 1, 1, 2, 2, 0, 0]]
```

## References
- https://github.com/huggingface/transformers/issues/39814
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of

if TYPE_CHECKING:
    import numpy


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    batch = evidence.batch
    segments, starts = batch.segments, batch.starts
    if segments is None or starts is None or batch.get("segment_ids") is None:
        return
    text_behind = numpy.logical_or.accumulate((segments != 0)[:, ::-1], axis=1)[:, ::-1]
    inside = (segments == 0) & text_behind
    if inside.any():
        yield evidence.finding(
            RULE,
            f"{int(inside.sum()):,} padding tokens in {int(inside.any(axis=1).sum()):,} rows have text behind them "
            f"(first: {at(first(inside))})",
            subject=f"{batch.name('segment_ids')}:padding",
            key=evidence.field_key("segment_ids"),
            expected="padding at the end of the row",
            evidence=tuple(rows_of(inside)),
            details={"count": int(inside.sum()), "first": list(first(inside))},
        )
    again = _again(segments, starts)
    if again.any():
        row, column = first(again)
        ids = batch.get("segment_ids")
        yield evidence.finding(
            RULE,
            f"{int(again.sum()):,} document{'s' * (int(again.sum()) != 1)} go on after another one (first: "
            f"{at((row, column))}: segment {int(ids[row, column]) if ids is not None else 0} once more)",
            subject=f"{batch.name('segment_ids')}:pieces",
            key=evidence.field_key("segment_ids"),
            expected="one piece for each segment id of a row",
            evidence=tuple(rows_of(again)),
            help="give every piece its own id, or keep documents together",
            details={"count": int(again.sum()), "first": [row, column]},
        )


def _again(segments: numpy.ndarray, starts: numpy.ndarray) -> numpy.ndarray:
    """Starts whose (row, segment) had a start before."""
    import numpy

    rows, columns = numpy.nonzero(starts)
    pairs = numpy.stack([rows, segments[rows, columns]], axis=1)
    _, firsts = numpy.unique(pairs, axis=0, return_index=True)
    repeated = numpy.ones(len(rows), bool)
    repeated[firsts] = False
    again = numpy.zeros_like(starts)
    again[rows[repeated], columns[repeated]] = True
    return again


RULE = Rule(
    code="DAT605",
    name="scattered-segment",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
