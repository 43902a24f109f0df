"""A small synthetic language with a known entropy, as deterministic batches: batch i is a function of (seed, i) alone.

A text starts with a dialect token 0 or 1. Each next token is one of the four successors of the current one, with
probabilities 1/2, 1/4, 1/8, 1/8; which four depends on the dialect, so a model must look back to the first token to
reach the entropy H = 1.75 bits = 1.213 nats for each token.
"""

from __future__ import annotations

import math
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
        table = self.successors
        text = np.empty((batch, sequence + 1), np.int32)
        text[:, 0] = dialect = rng.integers(2, size=batch)
        choice = rng.choice(len(PROBABILITIES), p=PROBABILITIES, size=(batch, sequence))
        for position in range(sequence):
            text[:, position + 1] = table[dialect, text[:, position], choice[:, position]]
        length = rng.integers(sequence // 2, sequence + 1, size=(batch, 1))
        mask = (np.arange(sequence)[None, :] < length).astype(np.float32)
        return {"tokens": text[:, :-1].copy(), "targets": text[:, 1:].copy(), "loss_mask": mask}
