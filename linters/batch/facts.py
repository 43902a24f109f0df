"""What a batch, and one row of it, is like: how full, how many documents, how many are there twice or cut."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .batch import Batch

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Counts over one row. None where the batch does not say."""

    padding: float | None
    """Share of the row that is padding."""
    copies: int | None
    """Documents whose tokens another document of the batch has too."""
    cut: bool | None
    """Whether the last document reaches the end of the row without an end id."""


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """Counts over one batch. None where the batch does not say."""

    rows: int
    columns: int
    tokens: int | None
    """Tokens that are no padding."""
    documents: int | None
    duplicates: int | None
    """Documents whose tokens another document of the batch has too."""
    cut: int | None
    """Documents that reach the end of their row without an end id; None where that id is not known."""
    counted: int | None
    """Targets that count in the loss."""
    denominator: float | None
    """Their weights added up: what a mean over valid tokens divides by."""

    @property
    def padding(self) -> float | None:
        """Share of the batch that is padding."""
        size = self.rows * self.columns
        return None if self.tokens is None or not size else 1 - self.tokens / size


def batch_facts(batch: Batch) -> BatchFacts:
    """The counts of one batch; linear in its size."""
    rows, columns = batch.shape or (0, 0)
    segments, starts, tokens, counted = batch.segments, batch.starts, batch.get("tokens"), batch.counted
    documents = duplicates = cut = None
    if segments is not None and starts is not None:
        documents = int(starts.sum())
    if segments is not None and tokens is not None:
        seen = Counter(digest for row in range(rows) for digest in _digests(batch, tokens, row))
        duplicates = sum(count - 1 for count in seen.values())
        if batch.eos_id is not None:
            cut = int(((segments[:, -1:] != 0) & (tokens[:, -1:] != batch.eos_id)).sum())
    return BatchFacts(
        rows=rows,
        columns=columns,
        tokens=None if segments is None else int((segments != 0).sum()),
        documents=documents,
        duplicates=duplicates,
        cut=cut,
        counted=None if counted is None else int((counted != 0).sum()),
        denominator=None if counted is None else float(counted.sum()),
    )


def row_facts(batch: Batch, row: int) -> RowFacts:
    """The counts of one row, which is there; linear in the size of the batch."""
    segments, tokens = batch.segments, batch.get("tokens")
    if segments is None or not segments.shape[1]:
        return RowFacts(None, None, None)
    padding = float((segments[row] == 0).mean())
    if tokens is None:
        return RowFacts(padding, None, None)
    seen = Counter(digest for each in range(len(segments)) for digest in _digests(batch, tokens, each))
    copies = sum(seen[digest] > 1 for digest in _digests(batch, tokens, row))
    ends = batch.eos_id is None or int(tokens[row, -1]) == batch.eos_id or not segments[row, -1]
    return RowFacts(padding, copies, None if batch.eos_id is None else not ends)


def _digests(batch: Batch, tokens: numpy.ndarray, row: int) -> Iterator[bytes]:
    """One for the tokens of each document of a row."""
    for span in batch.spans(row):
        yield hashlib.sha256(tokens[row, span.start : span.stop].tobytes()).digest()
