"""A small synthetic language with a known entropy, as deterministic batches: batch i is a function of (seed, i) alone.

A text starts with a dialect token 0 or 1. Each next token is one of the four successors of the current one, with
probabilities 1/2, 1/4, 1/8, 1/8; which four depends on the dialect, so a model must look back to the first token to
reach the entropy H = 1.75 bits = 1.213 nats for each token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

PROBABILITIES = (0.5, 0.25, 0.125, 0.125)
ENTROPY = -sum(p * math.log(p) for p in PROBABILITIES)
"""Nats for each token: the lowest mean cross entropy any model can reach."""

Batch = dict[str, Any]


@dataclass(frozen=True)
class Language:
    """Texts over `vocab` tokens, at least 6; seed fixes the successors."""

    vocab: int
    seed: int = 0

    @cached_property
    def successors(self) -> np.ndarray:
        """[dialect, token, 4]: the four distinct successors of each token, never a dialect token."""
        order = np.random.default_rng((self.seed, 0)).random((2, self.vocab, self.vocab - 2)).argsort(axis=-1)
        return order[..., : len(PROBABILITIES)].astype(np.int32) + 2

    @property
    def blind(self) -> float:
        """Nats for each token of the best guess from the current token alone: what a model without attention reaches.

        The mean over tokens (taken as equally frequent) of the entropy of both dialects' successors mixed half and
        half.
        """
        mixed = np.zeros((self.vocab, self.vocab))
        for dialect in range(2):
            np.add.at(mixed, (np.arange(self.vocab)[:, None], self.successors[dialect]), np.array(PROBABILITIES) / 2)
        logs = np.log(mixed, out=np.zeros_like(mixed), where=mixed > 0)
        return float(-(mixed * logs)[2:].sum(axis=-1).mean())

    def batch(self, index: int, batch: int, sequence: int) -> Batch:
        """tokens and targets [B, S] int32 (targets are the next tokens), loss_mask [B, S] float32.

        Texts have lengths between S / 2 and S; what lies behind the end is not counted, so microbatches differ in
        counted tokens.
        """
        rng = np.random.default_rng((self.seed, 1, index))
        text = self._texts(rng, batch, sequence + 1)
        length = rng.integers(sequence // 2, sequence + 1, size=(batch, 1))
        mask = (np.arange(sequence)[None, :] < length).astype(np.float32)
        return {"tokens": text[:, :-1].copy(), "targets": text[:, 1:].copy(), "loss_mask": mask}

    def document(self, index: int, longest: int) -> np.ndarray:
        """Text `index`, a function of (seed, index) alone: int32, between `longest` / 4 and `longest` tokens."""
        rng = np.random.default_rng((self.seed, 2, index))
        return self._texts(rng, 1, int(rng.integers(max(2, longest // 4), longest + 1)))[0]

    def packed(self, index: int, batch: int, sequence: int) -> Batch:
        """A batch of rows that hold documents of up to S / 2 tokens behind each other, as many as fit: also
        segment_ids (from 1; 0 is padding) and positions (from 0 in every document), both int32.

        The last token of a document has no target: what follows it belongs to the next.
        """
        rows = []
        for row in range(batch):
            parts: list[np.ndarray] = []
            # A row takes at most one document for each quarter of the shortest; their numbers never overlap.
            first = (index * batch + row) * (sequence + 1)
            while sum(map(len, parts)) < sequence:
                following = self.document(first + len(parts), sequence // 2)
                if sum(map(len, parts)) + len(following) > sequence:
                    break
                parts.append(following)
            rows.append(pack(parts, sequence))
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _texts(self, rng: np.random.Generator, count: int, length: int) -> np.ndarray:
        """[count, length] int32."""
        text = np.empty((count, length), np.int32)
        text[:, 0] = dialect = rng.integers(2, size=count)
        choice = rng.choice(len(PROBABILITIES), p=PROBABILITIES, size=(count, length - 1))
        for position in range(length - 1):
            text[:, position + 1] = self.successors[dialect, text[:, position], choice[:, position]]
        return text


def pack(documents: Sequence[np.ndarray], sequence: int) -> Batch:
    """One row [S] of documents behind each other: tokens, targets, loss_mask, segment_ids, positions."""
    row: Batch = {name: np.zeros(sequence, np.int32) for name in ("tokens", "targets", "segment_ids", "positions")}
    row["loss_mask"] = np.zeros(sequence, np.float32)
    start = 0
    for number, text in enumerate(documents, 1):
        stop = start + len(text)
        row["tokens"][start:stop] = text
        row["targets"][start : stop - 1] = text[1:]
        row["loss_mask"][start : stop - 1] = 1
        row["segment_ids"][start:stop] = number
        row["positions"][start:stop] = np.arange(len(text))
        start = stop
    return row
