"""Batches through grain: packed right, the same again, restored at any place, and divided among processes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.model import DataSection
from contract_lint.linters.batch.batch import Batch
from contract_lint.linters.batch.evidence import BatchEvidence
from contract_lint.linters.batch.judge import judge_batch
from contract_lint.runtime.data.digest import batch_digest
from contract_lint.runtime.trainer.data import Language

PROMISE = DataSection.model_validate({"packing": {"kind": "segments"}, "shift": "batch"})


def _clean(batch: dict[str, Any]) -> None:
    assert judge_batch(BatchEvidence(Batch("b.npz", batch, PROMISE))) == []
    assert (batch["segment_ids"].max(axis=1) > 1).all(), "rows of one document would prove nothing"


def test_a_packed_batch_keeps_what_batches_promise() -> None:
    language = Language(32, seed=5)
    batch = language.packed(7, 4, 64)
    _clean(batch)
    assert batch_digest(batch) == batch_digest(Language(32, seed=5).packed(7, 4, 64))
    assert batch_digest(batch) != batch_digest(language.packed(8, 4, 64))
    first = batch["tokens"][batch["positions"] == 0]
    assert set(first.tolist()) <= {0, 1}, "every document begins with its dialect"


@pytest.fixture(scope="module")
def reader() -> Any:
    pytest.importorskip("grain")
    from contract_lint.runtime.trainer.config import configure
    from contract_lint.runtime.trainer.reader import reader

    return lambda *process, **overrides: reader(
        configure("tiny", batch=8, sequence=64, vocab=32, packed=True, **overrides), *process
    )


def _digests(iterator: Any, count: int) -> list[str]:
    return [batch_digest(batch) for batch in islice(iterator, count)]


def test_what_grain_gives_is_whole(reader: Any) -> None:
    batch = next(iter(reader()))
    _clean(batch)
    assert {name: value.dtype.name for name, value in batch.items()} == {
        **dict.fromkeys(("tokens", "targets", "segment_ids", "positions"), "int32"),
        "loss_mask": "float32",
    }


def test_restored_at_any_place_it_goes_on(reader: Any) -> None:
    whole, iterator = _digests(iter(reader()), 5), iter(reader())
    assert len(set(whole)) == 5
    for done in range(4):
        state = iterator.get_state()
        again = iter(reader())
        again.set_state(state)
        assert _digests(again, 2) == whole[done : done + 2]
        next(iterator)
    assert _digests(iter(reader(seed=1)), 5) != whole


def test_processes_share_the_rows(reader: Any) -> None:
    parts = [next(iter(reader(process, 2))) for process in range(2)]
    assert all(part["tokens"].shape == (4, 64) for part in parts)
    rows = [{row.tobytes() for row in part["tokens"]} for part in parts]
    assert not rows[0] & rows[1]
    with pytest.raises(ValueError, match="batch 8 is not divisible by 3 processes"):
        reader(0, 3)


def test_a_target_never_crosses_documents(reader: Any) -> None:
    batch = next(iter(reader()))
    counted = batch["loss_mask"][:, :-1] == 1
    assert (batch["targets"][:, :-1][counted] == batch["tokens"][:, 1:][counted]).all()
    assert (batch["segment_ids"][:, :-1][counted] == batch["segment_ids"][:, 1:][counted]).all()
    assert np.count_nonzero(counted) > 300
