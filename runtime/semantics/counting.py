"""Which targets of a batch count: where a mask is not 0, else where a label is not negative.

Code of another tradition has no mask: it writes a negative id, often -100, over the labels that the loss leaves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..run.values import HostValue
from .inputs import Inputs, microbatches

TRIES = 64


def with_labels(
    inputs: Inputs, values: Mapping[str, HostValue], labels: Sequence[str], least: int | None = None
) -> Inputs:
    """The inputs with the labels as what tells which targets count, where no mask does and a negative id is known.

    labels: names that the labels may have. least: the id that is not counted, where no row of this batch has one.
    """
    if inputs.mask is not None:
        return inputs
    name = next((name for wanted in labels for name in inputs.batch if name.rpartition("/")[2] == wanted), None)
    if name is None or values[name].key is not None or values[name].array.dtype.kind != "i":
        return inputs
    array = values[name].array
    negative = Counter(array[array < 0].tolist())
    ignored = negative.most_common(1)[0][0] if negative else least
    if ignored is None or not np.iinfo(array.dtype).min <= ignored < 0:
        return inputs
    return replace(inputs, mask=name, ignored=ignored)


def counted(values: Mapping[str, HostValue], inputs: Inputs, rows: slice | None = None) -> float | None:
    """How many targets of these rows count, by their weights; None where nothing tells."""
    if inputs.mask is None:
        return None
    array = values[inputs.mask].array
    return float(np.sum(_weights(array if rows is None else array[rows], inputs)))


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
        thinned = _thinned(mask.array, inputs, rng)
        weights = _weights(thinned, inputs)
        each = [[float(np.sum(weights[rows])) for rows in microbatches(inputs.sequences, n, order)] for n in counts]
        if any(not all(of) for of in each):
            continue
        score = sum(len(set(of)) for of in each)
        if score > differing:
            best, differing = thinned, score
    return {**values, inputs.mask: HostValue(best, spec=mask.spec)}


def _weights(array: np.ndarray, inputs: Inputs) -> np.ndarray:
    return array.astype(np.float64) if inputs.ignored is None else (array >= 0).astype(np.float64)


def _none_of(array: np.ndarray, inputs: Inputs) -> np.ndarray:
    return np.full_like(array, 0 if inputs.ignored is None else inputs.ignored)


def _thinned(mask: np.ndarray, inputs: Inputs, rng: np.random.Generator) -> np.ndarray:
    share = np.square(rng.uniform(0.2, 1.0, size=(mask.shape[0], *([1] * (mask.ndim - 1)))))
    keep = rng.random(mask.shape) < share
    if mask.ndim > 1:
        flat, there = keep.reshape(mask.shape[0], -1), _weights(mask, inputs).reshape(mask.shape[0], -1) != 0
        if inputs.ignored is not None:
            # A model that shifts leaves out the first label of a row: then both ways of counting are one.
            flat[:, 0] = False
            there[:, 0] &= ~np.any(there[:, 1:], axis=1)
        flat[np.arange(len(flat)), np.argmax(there, axis=1)] = True
        keep = flat.reshape(mask.shape)
    return np.where(keep, mask, _none_of(mask, inputs)).astype(mask.dtype)
