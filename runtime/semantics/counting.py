"""Which targets of a batch count: by mask and weight, else where a label is not the id that does not count.

Code of another tradition has no mask: it writes a negative id, often -100, over the labels that the loss leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...contracts.uncounted import uncounted_id, why_none
from ..run.values import HostValue
from .inputs import Inputs, microbatches

TRIES = 64


def with_labels(inputs: Inputs, values: Mapping[str, HostValue], labels: Mapping[str, float | None]) -> Inputs | str:
    """The inputs with the labels as what tells which targets count, where no mask does; a sentence where they cannot.

    labels: names that the labels may have, each with the least value that the contract promises of it.
    """
    if inputs.mask is not None:
        return inputs
    there = {name.rpartition("/")[2]: name for name in reversed(inputs.batch)}
    wanted = next((each for each in labels if each in there), None)
    if wanted is None:
        return "the batch has neither a mask nor labels, by any usual name or by `data`"
    name, least = there[wanted], labels[wanted]
    array = values[name].array
    if values[name].key is not None or array.dtype.kind != "i":
        return f"`{name}` has no integers that could be below 0"
    below = np.unique(array[array < 0]).tolist()
    uncounted = uncounted_id(least, below)
    if uncounted is None:
        return why_none(name, least, below)
    if uncounted.id < np.iinfo(array.dtype).min:
        return f"`{name}` is {array.dtype} and cannot hold {uncounted.id}, where its `range` begins"
    return replace(inputs, mask=name, uncounted=uncounted)


def counted(values: Mapping[str, HostValue], inputs: Inputs, rows: slice | None = None) -> float | None:
    """How many targets of these rows count, by their weights; None where nothing tells."""
    if inputs.mask is None:
        return None
    return float(np.sum(_weights(values[inputs.mask].array, values, inputs)[slice(None) if rows is None else rows]))


def only_rows(values: Mapping[str, HostValue], inputs: Inputs, rows: slice) -> dict[str, HostValue]:
    """The values with targets in these rows alone."""
    assert inputs.mask is not None
    mask = values[inputs.mask]
    array = _none_of(mask.array, inputs)
    array[rows] = mask.array[rows]
    return {**values, inputs.mask: HostValue(array, spec=mask.spec)}


def uneven(values: Mapping[str, HostValue], inputs: Inputs, counts: Sequence[int], order: str) -> dict[str, HostValue]:
    """The values with another number of counted targets in every microbatch, as far as its rows allow.

    Only targets that were counted before are left; of every row at least one. An even mask hides a mean of means.
    """
    if inputs.mask is None:
        return dict(values)
    mask = values[inputs.mask]
    rng = np.random.default_rng(20_261_130)
    best, differing = mask.array, -1
    for _ in range(TRIES):
        thinned = _thinned(mask.array, _weights(mask.array, values, inputs) != 0, inputs, rng)
        weights = _weights(thinned, values, inputs)
        each = [[float(np.sum(weights[rows])) for rows in microbatches(inputs.sequences, n, order)] for n in counts]
        if any(not all(of) for of in each):
            continue
        score = sum(len(set(of)) for of in each)
        if score > differing:
            best, differing = thinned, score
    return {**values, inputs.mask: HostValue(best, spec=mask.spec)}


def _weights(mask: np.ndarray, values: Mapping[str, HostValue], inputs: Inputs) -> np.ndarray:
    """How much each target counts with such a mask, or such labels."""
    weights = (mask if inputs.uncounted is None else inputs.uncounted.counted(mask)).astype(np.float64)
    for name in inputs.weights:
        weights = weights * values[name].array.astype(np.float64)
    return weights


def _none_of(array: np.ndarray, inputs: Inputs) -> np.ndarray:
    return np.full_like(array, 0 if inputs.uncounted is None else inputs.uncounted.id)


def _thinned(mask: np.ndarray, counts: np.ndarray, inputs: Inputs, rng: np.random.Generator) -> np.ndarray:
    share = np.square(rng.uniform(0.2, 1.0, size=(mask.shape[0], *([1] * (mask.ndim - 1)))))
    keep = rng.random(mask.shape) < share
    if mask.ndim > 1:
        flat, there = keep.reshape(mask.shape[0], -1), counts.reshape(mask.shape[0], -1).copy()
        if inputs.uncounted is not None:
            # A model that shifts leaves out the first label of a row: then both ways of counting are one.
            flat[:, 0] = False
            there[:, 0] &= ~np.any(there[:, 1:], axis=1)
        flat[np.arange(len(flat)), np.argmax(there, axis=1)] = True
        keep = flat.reshape(mask.shape)
    return np.where(keep, mask, _none_of(mask, inputs)).astype(mask.dtype)
