"""Digests of batches: the same for the same values, another for any change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract_lint.runtime.data.digest import NotABatch, batch_digest

BATCH: dict[str, Any] = {"tokens": np.arange(6).reshape(2, 3), "more": [np.float32(1), "text"]}


def test_the_same_batch() -> None:
    other = {"more": list(BATCH["more"]), "tokens": np.asfortranarray(BATCH["tokens"])}
    assert batch_digest(BATCH) == batch_digest(other)


@pytest.mark.parametrize(
    "changed",
    [
        {"tokens": np.arange(6).reshape(3, 2)},
        {"tokens": np.arange(6, dtype=np.int32).reshape(2, 3)},
        {"tokens": np.array([[0, 1, 2], [3, 4, 6]])},
        {"more": [np.float32(1), "text", 0]},
        {"other": 1},
    ],
)
def test_another_batch(changed: dict[str, Any]) -> None:
    assert batch_digest(BATCH) != batch_digest({**BATCH, **changed})


def test_objects_are_refused_with_their_place() -> None:
    with pytest.raises(NotABatch, match="`a/0` of a batch is of type object; arrays, numbers"):
        batch_digest({"a": [object()]})
    with pytest.raises(NotABatch, match="`a` of a batch holds objects"):
        batch_digest({"a": np.array([{}], dtype=object)})
    with pytest.raises(NotABatch, match="a batch is of type object"):
        batch_digest(object())


def test_a_batch_that_holds_itself_is_refused() -> None:
    batch: dict[str, Any] = {"tokens": np.arange(3)}
    batch["self"] = batch
    with pytest.raises(NotABatch, match="`self/self/self` of a batch is more than 100 levels deep, or holds itself"):
        batch_digest(batch)
    nested: Any = 1
    for _ in range(100):
        nested = [nested]
    batch_digest(nested)
