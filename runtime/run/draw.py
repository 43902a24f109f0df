"""Values for a step that brings no `example`: drawn from shapes, dtypes and names with a fixed seed.

The values need not make sense, they must make faults visible: no two shards are alike, and masks keep a different share
of every row, so that a wrong normaliser or a lost shard moves every result.
"""

from __future__ import annotations

import math
import os
import re
import zlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..leaves import physical
from ..request import StepFailure
from ..step import NormalisedStep
from .values import HostValue, key_of, named_leaves, to_host

Range = tuple[float, float]

_SLOTS = frozenset({"mu", "nu", "m", "v", "trace", "momentum", "velocity", "ema", "opt_state", "optimizer", "opt"})
_SCALE = re.compile(r"scale|norm|gamma|weight_norm|ln", re.I)
_MASK = re.compile(r"mask|weights?$|valid|segment", re.I)
DEFAULT_INTEGERS: Range = (0, 2)
"""Integers stand for indices as a rule, and nobody has said into what; 0 and 1 are in range of anything."""


def draw(
    step: NormalisedStep, index: int, ranges: Mapping[str, Range] | None = None, seed: int = 0
) -> dict[str, HostValue]:
    """A value for every input leaf at loop step `index`; leaves that are concrete already keep theirs.

    `ranges`: name of an argument, of a leaf (`batch/tokens`, `tokens`) or `*` for all integers -> (low, high), high
    excluded.
    """
    _require_memory(step)
    carried = set(step.carry.values()) | set(step.donate)
    values: dict[str, HostValue] = {}
    for argument, path, leaf in named_leaves(step, step.args, step.kwargs):
        name = key_of(argument, path)
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            values[name] = to_host(leaf)
            continue
        rng = np.random.default_rng((seed, 0 if argument in carried else index, zlib.crc32(name.encode())))
        values[name] = _one(name, leaf, rng, argument in carried, ranges or {})
    return values


def _require_memory(step: NormalisedStep) -> None:
    """Refuse a step whose inputs this machine cannot hold, before it tries; each number is drawn in 8 bytes."""
    leaves = [leaf for _, _, leaf in named_leaves(step, step.args, step.kwargs)]
    drawn = 8 * sum(math.prod(leaf.shape) for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct))
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if drawn > machine:
        raise StepFailure(
            f"the step's inputs take {drawn / 2**30:,.0f} GiB to draw, this machine has {machine / 2**30:,.0f} GiB",
            help="execute a smaller preset of the step; without --run no array is ever made",
        )


def _one(name: str, leaf: Any, rng: np.random.Generator, state: bool, ranges: Mapping[str, Range]) -> HostValue:
    shape, dtype = tuple(leaf.shape), leaf.dtype
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        words, _ = physical(leaf)
        impl = (
            str(jax.random.key_impl(jax.eval_shape(lambda: jax.random.key(0))))
            if not hasattr(dtype, "_impl")
            else dtype._impl.name
        )
        return HostValue(rng.integers(0, 2**32, size=words, dtype=np.uint32), impl)
    parts = name.split("/")
    given = next((ranges[key] for key in (name, "/".join(parts[1:]), parts[-1], parts[0]) if key in ranges), None)
    if jnp.issubdtype(dtype, jnp.floating):
        # Arithmetic on arrays without dimensions gives scalars, which a step takes for Python numbers.
        return HostValue(np.asarray(_floats(parts, shape, rng, state, given)).astype(dtype))
    if dtype == jnp.bool_:
        return HostValue(_mask(shape, rng).astype(bool))
    if state and not shape:
        return HostValue(np.zeros(shape, dtype))  # a counter: steps done so far
    low, high = given or ranges.get("*") or DEFAULT_INTEGERS
    if _MASK.search(parts[-1]) and given is None:
        return HostValue(_mask(shape, rng).astype(dtype))
    return HostValue(np.asarray(rng.integers(int(low), max(int(high), int(low) + 1), size=shape)).astype(dtype))


def _floats(
    parts: list[str], shape: tuple[int, ...], rng: np.random.Generator, state: bool, given: Range | None
) -> np.ndarray:
    if given is not None:
        return rng.uniform(*given, size=shape)
    if state:
        if _SLOTS.intersection(parts[:-1]) or parts[-1] in _SLOTS:
            return np.zeros(shape)
        if not shape:
            return np.full(shape, 1e-3)  # a hyperparameter that the optimizer keeps: none may be negative
        if len(shape) < 2:
            return (1.0 if _SCALE.search("/".join(parts[-2:])) else 0.0) + 0.1 * rng.standard_normal(shape)
        return rng.standard_normal(shape) / math.sqrt(max(shape[-2], 1))
    if not shape:
        return np.full(shape, 1e-3)  # a learning rate, a coefficient
    return _mask(shape, rng) if _MASK.search(parts[-1]) else rng.standard_normal(shape)


def _mask(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """0 and 1: row i keeps a share that grows from 1/4 to 1 along the first axis, and at least its first element."""
    if not shape:
        return np.ones(shape)
    share = np.linspace(0.25, 1.0, shape[0]).reshape(-1, *([1] * (len(shape) - 1)))
    mask = (rng.random(shape) < share).astype(np.float64)
    if len(shape) > 1:
        mask[(slice(None), *([0] * (len(shape) - 1)))] = 1.0
    else:
        mask[0] = 1.0
    return mask
