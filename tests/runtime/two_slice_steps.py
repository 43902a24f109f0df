"""One collective each, over the axis `data`, which lies across the two slices in part or in whole."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS = 64, 256
"""The array that is whole over the group."""


def _step(mesh: Any, collective: Callable[[Any], Any], before: P, after: P) -> Any:
    def fn(x: Any) -> Any:
        moved = jax.shard_map(collective, mesh=mesh, in_specs=before, out_specs=after, check_vma=False)
        return moved(x * 2) + 1

    shape = jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32, sharding=NamedSharding(mesh, before))
    return types.SimpleNamespace(fn=fn, args=(shape,), donate=())


def gather(mesh: Any) -> Any:
    return _step(mesh, partial(jax.lax.all_gather, axis_name="data", tiled=True), P("data"), P())


def reduce(mesh: Any) -> Any:
    return _step(mesh, partial(jax.lax.psum, axis_name="data"), P(), P())


def scatter(mesh: Any) -> Any:
    return _step(mesh, partial(jax.lax.psum_scatter, axis_name="data", tiled=True), P(), P("data"))


def exchange(mesh: Any) -> Any:
    collective = partial(jax.lax.all_to_all, axis_name="data", split_axis=1, concat_axis=0, tiled=True)
    return _step(mesh, collective, P("data"), P(None, "data"))
