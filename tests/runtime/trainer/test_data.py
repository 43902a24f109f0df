"""The synthetic language: reproducible batches whose entropy is the stated one."""

from __future__ import annotations

import numpy as np
from contract_lint.runtime.trainer.data import ENTROPY, Language


def test_a_batch_is_a_function_of_seed_and_index() -> None:
    first, again = (Language(32, seed=5).batch(7, 4, 16) for _ in range(2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["tokens"], Language(32, seed=5).batch(8, 4, 16)["tokens"])
    assert not np.array_equal(first["tokens"], Language(32, seed=6).batch(7, 4, 16)["tokens"])


def test_targets_are_the_next_tokens_and_lengths_differ() -> None:
    batch = Language(32).batch(0, 64, 16)
    assert np.array_equal(batch["tokens"][:, 1:], batch["targets"][:, :-1])
    assert {name: value.dtype.name for name, value in batch.items()} == {
        "tokens": "int32",
        "targets": "int32",
        "loss_mask": "float32",
    }
    lengths = batch["loss_mask"].sum(axis=1)
    assert lengths.min() >= 8
    assert lengths.max() <= 16
    assert len(set(lengths)) > 4


def test_successor_frequencies_have_the_stated_entropy() -> None:
    language = Language(32)
    batch = language.batch(0, 512, 64)
    successors = language.successors[batch["tokens"][:, :1], batch["tokens"]]
    rank = (successors == batch["targets"][..., None]).argmax(axis=-1)
    assert (np.take_along_axis(successors, rank[..., None], axis=-1)[..., 0] == batch["targets"]).all()
    share = np.bincount(rank.ravel(), minlength=4) / rank.size
    assert abs(-(share * np.log(share)).sum() - ENTROPY) < 0.01
