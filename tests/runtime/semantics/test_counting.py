"""Which targets count is told by a mask, else by labels that are not negative."""

from __future__ import annotations

import numpy as np
import pytest
from contract_lint.runtime.run.values import HostValue
from contract_lint.runtime.semantics.counting import counted, only_rows, uneven, with_labels
from contract_lint.runtime.semantics.inputs import Inputs, microbatches

ROWS, WIDTH = 8, 40
COUNTS = (1, 2, 4, 8)


def labels(ignored: int = -100) -> np.ndarray:
    ids = np.random.default_rng(0).integers(0, 50, (ROWS, WIDTH)).astype(np.int32)
    return np.where(np.arange(WIDTH) < WIDTH - np.arange(ROWS)[:, None] % 4, ids, ignored).astype(np.int32)


def batch(**arrays: np.ndarray) -> tuple[Inputs, dict[str, HostValue]]:
    names = tuple(f"batch/{name}" for name in arrays)
    mask = next((name for name in names if name.endswith("mask")), None)
    return Inputs({}, names, ROWS, mask), {f"batch/{name}": HostValue(array) for name, array in arrays.items()}


@pytest.mark.parametrize("ignored", [-100, -1])
def test_negative_labels_are_not_counted(ignored: int) -> None:
    inputs, values = batch(tokens=abs(labels()), labels=labels(ignored))
    found = with_labels(inputs, values, ("targets", "labels"))
    assert (found.mask, found.ignored) == ("batch/labels", ignored)
    assert counted(values, found) == (labels() >= 0).sum()


def test_a_mask_comes_first() -> None:
    inputs, values = batch(labels=labels(), mask=np.ones((ROWS, WIDTH)))
    assert with_labels(inputs, values, ("labels",)) is inputs
    assert counted(values, inputs) == ROWS * WIDTH


def test_labels_that_all_count_tell_nothing() -> None:
    inputs, values = batch(labels=abs(labels()))
    assert with_labels(inputs, values, ("labels",)).mask is None
    assert counted(values, inputs) is None
    assert with_labels(inputs, values, ("labels",), least=-100).ignored == -100, "the promised range tells it"
    inputs, values = batch(labels=abs(labels()).astype(np.float32) - 5)
    assert with_labels(inputs, values, ("labels",)).mask is None, "no ids"


@pytest.mark.parametrize("order", ["strided", "contiguous"])
@pytest.mark.parametrize("by", ["mask", "labels"])
def test_every_microbatch_counts_another_number(by: str, order: str) -> None:
    array = labels()
    inputs, values = batch(labels=array) if by == "labels" else batch(mask=(array >= 0).astype(np.float32))
    inputs = with_labels(inputs, values, ("labels",))
    thinned = uneven(values, inputs, COUNTS, order)
    after = thinned[f"batch/{by}"].array
    assert after.dtype == values[f"batch/{by}"].array.dtype
    counts = after >= 0 if by == "labels" else after != 0
    assert counts.any(axis=1).all() and not (counts & (array < 0)).any()
    assert (after[counts] == values[f"batch/{by}"].array[counts]).all()
    for number in COUNTS[1:3]:
        each = [count for rows in microbatches(ROWS, number, order) if (count := counted(thinned, inputs, rows))]
        assert len(each) == len(set(each)) == number and sum(each) == counted(thinned, inputs)


def test_a_shift_in_the_model_changes_no_number() -> None:
    inputs, values = batch(labels=labels())
    inputs = with_labels(inputs, values, ("labels",))
    after = uneven(values, inputs, COUNTS, "strided")["batch/labels"].array
    assert (after >= 0).sum() == (after[:, 1:] >= 0).sum() > 0


def test_targets_of_some_rows_alone() -> None:
    inputs, values = batch(labels=labels())
    inputs = with_labels(inputs, values, ("labels",))
    alone = only_rows(values, inputs, slice(0, None, 2))
    assert counted(alone, inputs, slice(1, None, 2)) == 0
    assert counted(alone, inputs) == counted(values, inputs, slice(0, None, 2))
