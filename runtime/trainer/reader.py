"""The synthetic language read through grain, as a real run reads its data: shuffled, packed, each process its own rows.

The iterator's `get_state()` is the cursor; what follows it is a function of the configuration and the cursor alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .config import TrainerConfig
from .data import Batch, Language

RECORDS = 1 << 20
"""Documents of one epoch."""
BINS = 8
"""Rows that are filled at the same time."""


class Documents:
    """The language's documents by number, up to `longest` tokens each."""

    def __init__(self, language: Language, longest: int) -> None:
        self.language, self.longest = language, longest

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> Batch:
        return {"tokens": self.language.document(int(index), self.longest)}

    def __repr__(self) -> str:
        return f"Documents({self.language}, longest={self.longest})"


def reader(cfg: TrainerConfig, process: int = 0, processes: int = 1) -> Any:
    """A grain IterDataset of one process's part of each packed batch: rows `[B / processes, S]` of every array.

    Documents are divided among processes before they are packed. Raises ValueError where the batch does not divide,
    and ImportError without grain.
    """
    import grain

    if cfg.batch % processes:
        raise ValueError(f"batch {cfg.batch} is not divisible by {processes} processes")
    source = Documents(Language(cfg.vocab, cfg.seed), cfg.sequence // 2)
    documents = grain.MapDataset.source(source).shuffle(seed=cfg.seed)[process::processes].repeat()
    packed = grain.experimental.FirstFitPackIterDataset(
        documents.to_iter_dataset(), length_struct={"tokens": cfg.sequence}, num_packing_bins=BINS
    )
    return packed.map(with_targets).batch(cfg.batch // processes, drop_remainder=True)


def with_targets(row: Batch) -> Batch:
    """A packed row of grain with the next token of the same document as target; a document's last token has none."""
    tokens, segments = row["tokens"], row["tokens_segment_ids"]
    counted = np.zeros(tokens.shape, bool)
    counted[:-1] = (segments[:-1] != 0) & (segments[:-1] == segments[1:])
    return {
        "tokens": tokens.astype(np.int32),
        "targets": np.where(counted, np.roll(tokens, -1), 0).astype(np.int32),
        "loss_mask": counted.astype(np.float32),
        "segment_ids": segments.astype(np.int32),
        "positions": row["tokens_positions"].astype(np.int32),
    }
