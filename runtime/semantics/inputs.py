"""The inputs of a probed step: which are parameters, which are the batch, which of its targets count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ...contracts.uncounted import Uncounted
from ..leaves import joined
from ..run.evaluate import FIRST_MOMENTS, SECOND_MOMENTS
from ..run.values import HostValue, key_of, named_leaves
from ..step import NormalisedStep

SLOTS = FIRST_MOMENTS | SECOND_MOMENTS | {"opt_state", "optimizer", "opt"}
NUDGE = 0.05
"""How far parameters are moved, relative to their size: none is all zeros then, and no gradient rests on symmetry."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Names of input leaves. `parameters`: path in the gradients -> leaf. `mask` has a row for each sequence, and times
    `weights`, of its shape, is how much each target counts. Where it is the labels, `uncounted` is the id of those that
    do not count.
    """

    parameters: dict[str, str]
    batch: tuple[str, ...]
    sequences: int
    mask: str | None
    weights: tuple[str, ...] = ()
    uncounted: Uncounted | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.parameters.values())


def inputs_of(step: NormalisedStep, gradients: Any, masks: Sequence[Sequence[str]]) -> Inputs | str:
    """What the step's inputs are, from the tree of its gradients; a sentence where they cannot be told.

    `masks`: names of each array that says which targets count, the first found of each is taken.
    """
    leaves = {key_of(a, path): leaf for a, path, leaf in named_leaves(step, step.args, step.kwargs)}
    paths = {joined(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(gradients)[0]}
    prefixes = _prefixes(leaves, paths)
    if not prefixes:
        return "no argument of the step has the structure of the gradients that `loss_and_grads` returns"
    prefix = min(prefixes, key=lambda prefix: bool(SLOTS & set(prefix.split("/"))))
    parameters = {path: f"{prefix}/{path}" if path else prefix for path in paths}
    # An optimizer's slots have the structure of the parameters too: an argument that holds them is state.
    state = {each.partition("/")[0] for each in prefixes} | SLOTS
    others = {name: leaf for name, leaf in leaves.items() if name.partition("/")[0] not in state and _is_array(leaf)}
    rows = {name: leaf.shape[0] for name, leaf in others.items() if len(leaf.shape)}
    if not rows:
        return "no argument of the step beside its state has rows"
    counts = list(rows.values())
    found = (next((n for wanted in names for n in rows if n.rpartition("/")[2] == wanted), None) for names in masks)
    counting = [name for name in found if name is not None]
    mask = next(iter(counting), None)
    sequences = rows[mask] if mask is not None else max(set(counts), key=counts.count)
    batch = tuple(name for name in rows if rows[name] == sequences)
    weights = tuple(name for name in counting[1:] if others[name].shape == others[counting[0]].shape)
    return Inputs(parameters, batch, sequences, mask, weights)


def _prefixes(leaves: Mapping[str, Any], gradients: Mapping[str, Any]) -> list[str]:
    """Where arrays of the gradients' structure lie: below an argument, or an argument itself."""
    first = next(iter(gradients), None)
    if first is None:
        return []
    ends = [name for name in leaves if name == first or name.endswith(f"/{first}") or not first]
    found = []
    for name in ends:
        prefix = name[: len(name) - len(first)].rstrip("/") if first else name
        there = {path: leaves.get(f"{prefix}/{path}" if path else prefix) for path in gradients}
        if all(leaf is not None and leaf.shape == gradients[path].shape for path, leaf in there.items()):
            found.append(prefix)
    return found


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def nudged(values: Mapping[str, HostValue], inputs: Inputs, seed: int = 20_261_130) -> dict[str, HostValue]:
    """The values with every parameter moved a little."""
    result = dict(values)
    rng = np.random.default_rng(seed)
    for name in inputs.names:
        value = values[name]
        wide = value.array.astype(np.float64)
        size = max(float(np.sqrt(np.mean(np.square(wide)))) if wide.size else 0.0, 0.02)
        moved = wide + NUDGE * size * rng.standard_normal(wide.shape)
        result[name] = HostValue(moved.astype(value.array.dtype), spec=value.spec)
    return result


def microbatches(sequences: int, count: int, order: str) -> list[slice]:
    """The rows of each microbatch: every N-th one (`strided`), or as many in a row (`contiguous`)."""
    if order == "strided":
        return [slice(index, None, count) for index in range(count)]
    size = sequences // count
    return [slice(index * size, (index + 1) * size) for index in range(count)]


def of_rows(values: Mapping[str, HostValue], inputs: Inputs, rows: slice) -> dict[str, HostValue]:
    """The values with these rows of the batch only."""
    return {
        name: HostValue(value.array[rows], value.key, value.spec) if name in inputs.batch else value
        for name, value in values.items()
    }


def for_rows(step: NormalisedStep, inputs: Inputs, count: int) -> NormalisedStep:
    """The step's arguments for a batch of so many rows; its functions stay."""

    def fit(argument: str, value: Any) -> Any:
        def one(path: Any, leaf: Any) -> Any:
            if key_of(argument, joined(path)) not in inputs.batch:
                return leaf
            sharding = getattr(leaf, "sharding", None)
            return jax.ShapeDtypeStruct((count, *leaf.shape[1:]), leaf.dtype, sharding=sharding)

        return value if argument in step.static else jax.tree_util.tree_map_with_path(one, value)

    args = tuple(fit(name, value) for name, value in zip(step.positional_names, step.args, strict=True))
    return replace(step, args=args, kwargs={name: fit(name, value) for name, value in step.kwargs.items()})
