"""Which targets count is told by a mask, else by labels: by the id that batch linters take too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contract_lint.contracts.model.data import DataSection
from contract_lint.contracts.model.data_fields import FieldSection
from contract_lint.contracts.uncounted import Uncounted
from contract_lint.linters.batch.batch import Batch
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


def told(inputs: Inputs, values: dict[str, HostValue], least: float | None = None) -> Inputs:
    """The inputs with labels, whose promised range begins at `least`, as what tells which targets count."""
    found = with_labels(inputs, values, {"targets": None, "labels": least})
    assert isinstance(found, Inputs), found
    return found


@pytest.mark.parametrize("ignored", [-100, -1])
def test_negative_labels_are_not_counted(ignored: int) -> None:
    inputs, values = batch(tokens=abs(labels()), labels=labels(ignored))
    found = told(inputs, values)
    assert (found.mask, found.uncounted) == ("batch/labels", Uncounted(id=ignored, inferred=True))
    assert counted(values, found) == (labels() >= 0).sum()


def test_a_mask_comes_first() -> None:
    inputs, values = batch(labels=labels(), mask=np.ones((ROWS, WIDTH)))
    assert told(inputs, values) is inputs
    assert counted(values, inputs) == ROWS * WIDTH


TWO_IDS = np.where(labels() % 7 == 1, -2, labels())
SILENT = {
    "no labels": ({"tokens": labels()}, None, "neither a mask nor labels"),
    "all count": ({"labels": abs(labels())}, None, "no id of `batch/labels` is below 0"),
    "no ids": ({"labels": labels().astype(np.float32)}, None, "no integers"),
    "unsigned": ({"labels": abs(labels()).astype(np.uint32)}, -100, "no integers"),
    "several": ({"labels": TWO_IDS}, None, "2 different ids below 0"),
    "forbidden": ({"labels": labels()}, 0, "begins at 0"),
    "too narrow": ({"labels": abs(labels()).astype(np.int8)}, -1000, "cannot hold -1000"),
}


@pytest.mark.parametrize("case", SILENT)
def test_a_batch_that_does_not_tell_says_why(case: str) -> None:
    arrays, least, says = SILENT[case]
    inputs, values = batch(**arrays)
    found = with_labels(inputs, values, {"labels": least})
    assert isinstance(found, str) and says in found
    assert counted(values, inputs) is None


@pytest.mark.parametrize("least", [None, -100, -1, 0])
@pytest.mark.parametrize("array", [labels(), labels(-1), abs(labels()), TWO_IDS], ids=["-100", "-1", "none", "two"])
def test_probe_and_batch_linters_count_the_same_targets(array: np.ndarray, least: int | None) -> None:
    data = DataSection(fields={"labels": FieldSection(range=None if least is None else [least, 49]), "tokens": {}})
    looked_at = Batch("batch.npz", {"tokens": abs(array), "labels": array}, data)
    inputs, values = batch(tokens=abs(array), labels=array)
    found = with_labels(inputs, values, {"labels": least})
    if isinstance(found, str):
        assert looked_at.counted is None and looked_at.uncounted is None
    else:
        assert looked_at.uncounted == found.uncounted and looked_at.counted is not None
        assert counted(values, found) == looked_at.counted.sum()


def test_a_promised_id_is_told_by_a_batch_without_it() -> None:
    inputs, values = batch(labels=abs(labels()))
    found = told(inputs, values, least=-100)
    assert found.uncounted == Uncounted(id=-100, inferred=False) and counted(values, found) == ROWS * WIDTH


@pytest.mark.parametrize("order", ["strided", "contiguous"])
@pytest.mark.parametrize("by", ["mask", "labels"])
def test_every_microbatch_counts_another_number(by: str, order: str) -> None:
    array = labels()
    inputs, values = batch(labels=array) if by == "labels" else batch(mask=(array >= 0).astype(np.float32))
    inputs = told(inputs, values)
    thinned = uneven(values, inputs, COUNTS, order)
    after = thinned[f"batch/{by}"].array
    assert after.dtype == values[f"batch/{by}"].array.dtype
    counts = after >= 0 if by == "labels" else after != 0
    assert counts.any(axis=1).all() and not (counts & (array < 0)).any()
    assert (after[counts] == values[f"batch/{by}"].array[counts]).all()
    for number in COUNTS[1:3]:
        each = [count for rows in microbatches(ROWS, number, order) if (count := counted(thinned, inputs, rows))]
        assert len(each) == len(set(each)) == number and sum(each) == counted(thinned, inputs)


def test_mask_times_weight_is_what_counts() -> None:
    """As batch linters have it; of every row a target is left that counts by both."""
    rng = np.random.default_rng(1)
    mask, weights = (labels() >= 0).astype(np.float32), rng.integers(0, 3, (ROWS, WIDTH)) / np.float32(2)
    inputs, values = batch(mask=mask, weights=weights)
    inputs = replace(inputs, weights=("batch/weights",))
    looked_at = Batch("batch.npz", {"tokens": abs(labels()), "mask": mask, "weights": weights})
    assert looked_at.counted is not None and counted(values, inputs) == looked_at.counted.sum()
    thinned = uneven(values, inputs, COUNTS, "strided")
    after = thinned["batch/mask"].array * weights
    assert after.any(axis=1).all() and counted(thinned, inputs) == after.sum() < looked_at.counted.sum()
    assert counted(only_rows(values, inputs, slice(0, 2)), inputs) == counted(values, inputs, slice(0, 2))


def test_a_shift_in_the_model_changes_no_number() -> None:
    inputs, values = batch(labels=labels())
    inputs = told(inputs, values)
    after = uneven(values, inputs, COUNTS, "strided")["batch/labels"].array
    assert (after >= 0).sum() == (after[:, 1:] >= 0).sum() > 0


def test_targets_of_some_rows_alone() -> None:
    inputs, values = batch(labels=labels())
    inputs = told(inputs, values)
    alone = only_rows(values, inputs, slice(0, None, 2))
    assert counted(alone, inputs, slice(1, None, 2)) == 0
    assert counted(alone, inputs) == counted(values, inputs, slice(0, None, 2))
