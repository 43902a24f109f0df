"""What a batch is like as a whole: how full, how many documents, which are there twice, which are cut."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .batch import Batch


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
        seen: dict[bytes, int] = {}
        open_ends = 0
        for row in range(rows):
            for span in batch.spans(row):
                digest = hashlib.sha256(tokens[row, span.start : span.stop].tobytes()).digest()
                seen[digest] = seen.get(digest, 0) + 1
                open_ends += span.stop == columns and int(tokens[row, columns - 1]) != batch.eos_id
        duplicates = sum(count - 1 for count in seen.values())
        cut = open_ends if batch.eos_id is not None else None
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
