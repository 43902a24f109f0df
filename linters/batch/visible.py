"""Which keys a query of a row may see, and which targets of it the loss counts: as runs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...contracts.model import AttentionSection
from .batch import Batch

if TYPE_CHECKING:
    import numpy

Run = tuple[int, int]
"""Columns from the first up to but not including the second."""


def visible_keys(batch: Batch, row: int, query: int) -> list[Run]:
    """The keys that `data.attention` lets one query see. Padding sees nothing and is seen by none.

    Without segments every column of the row is text.
    """
    rule: AttentionSection = batch.data.attention
    columns = batch.shape[1] if batch.shape else 0
    first = max(0, query - rule.window + 1) if rule.window is not None else 0
    last = query + 1 if rule.causal else columns if rule.window is None else min(columns, query + rule.window)
    if batch.segments is None:
        return [(first, last)] if first < last else []
    line = batch.segments[row]
    if not line[query]:
        return []
    seen = line == line[query] if rule.scope == "segment" else line != 0
    return [(start + first, stop + first) for start, stop in runs(seen[first:last])]


def counted_targets(batch: Batch, row: int) -> list[Run]:
    """The columns of a row whose targets count; all of its text where no mask says."""
    if batch.counted is not None:
        return runs(batch.counted[row] != 0)
    if batch.segments is not None:
        return runs(batch.segments[row] != 0)
    return [(0, batch.shape[1])] if batch.shape else []


def runs(flags: numpy.ndarray | Sequence[bool]) -> list[Run]:
    """The runs of true elements."""
    import numpy

    padded = numpy.concatenate([[False], numpy.asarray(flags, bool), [False]])
    edges = numpy.flatnonzero(padded[1:] != padded[:-1])
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
