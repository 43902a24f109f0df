"""Which arguments of a step are its state and which its batch, however both are handed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract_lint.runtime.semantics.inputs import Inputs, inputs_of
from contract_lint.runtime.step import NormalisedStep, as_step

ROWS, LAYERS = 8, 4
MASKS = (("loss_mask", "mask"), ("weights",))


def step(**arguments: Any) -> NormalisedStep:
    """A step that is never run, with these arguments by name."""
    return as_step(SimpleNamespace(fn=lambda **given: given, kwargs=arguments))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def parameters() -> dict[str, Any]:
    """Most arrays have a row for each layer: more of them than the batch has arrays."""
    return {"embed": zeros(16, 2), "layers": {name: zeros(LAYERS, 2, 2) for name in ("up", "down", "query", "key")}}


def batch() -> dict[str, Any]:
    return {"tokens": zeros(ROWS, 6), "targets": zeros(ROWS, 6), "mask": zeros(ROWS, 6)}


def slots(name: str) -> dict[str, Any]:
    return {"count": zeros(), name: parameters(), "nu": parameters()}


FORMS: dict[str, dict[str, Any]] = {
    "one state": {"state": {"params": parameters(), "opt_state": slots("mu")}, "batch": batch()},
    "batch, model, optimizer": {"batch": batch(), "model": parameters(), "opt_state": slots("mu")},
    "params, another name for slots": {"params": parameters(), "adam": slots("mu"), "batch": batch()},
    "slots of fewer arrays": {"params": parameters(), "opt_state": {"rows": [zeros(LAYERS)] * 9}, "batch": batch()},
    "averages beside": {"params": parameters(), "ema": parameters(), "batch": batch()},
    "arrays as arguments": {"params": parameters(), "opt": slots("mu"), **batch()},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_batch_is_what_is_no_state(form: str) -> None:
    found = inputs_of(step(**FORMS[form]), parameters(), MASKS)
    assert isinstance(found, Inputs)
    assert {name.rpartition("/")[2] for name in found.batch} == {"tokens", "targets", "mask"}
    assert found.sequences == ROWS and found.mask is not None and found.mask.rpartition("/")[2] == "mask"
    assert all(name.split("/")[0] in ("state", "params", "model") for name in found.names)


def test_a_mask_says_how_many_rows_there_are() -> None:
    """Tables that are no state and no batch: one row for each head, more of them than arrays of the batch."""
    tables = {f"bias{number}": zeros(LAYERS, 3) for number in range(5)}
    found = inputs_of(step(params=parameters(), tables=tables, batch=batch()), parameters(), MASKS)
    assert isinstance(found, Inputs) and found.sequences == ROWS and len(found.batch) == 3


@pytest.mark.parametrize(("width", "taken"), [(6, ("batch/weights",)), (5, ())])
def test_weights_of_the_masks_shape_count_too(width: int, taken: tuple[str, ...]) -> None:
    found = inputs_of(step(params=parameters(), batch=batch() | {"weights": zeros(ROWS, width)}), parameters(), MASKS)
    assert isinstance(found, Inputs) and (found.mask, found.weights) == ("batch/mask", taken)


def test_weights_alone_are_the_mask() -> None:
    arrays = {"tokens": zeros(ROWS, 6), "weights": zeros(ROWS, 6)}
    found = inputs_of(step(params=parameters(), batch=arrays), parameters(), MASKS)
    assert isinstance(found, Inputs) and (found.mask, found.weights) == ("batch/weights", ())


def test_a_step_without_a_batch_says_so() -> None:
    said = inputs_of(step(params=parameters(), opt_state=slots("mu")), parameters(), MASKS)
    assert said == "no argument of the step beside its state has rows"
