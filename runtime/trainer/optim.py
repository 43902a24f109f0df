"""The optimizer: an optax transformation, the norm of a sharded gradient, one update with slots in their own place."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec, reshard

from .config import TrainerConfig
from .mesh import Placement
from .model import Params


def transformation(cfg: TrainerConfig) -> optax.GradientTransformation:
    """The optax chain of the configuration. Norm scales are not decayed. Clipping is not in it: see `clip`."""
    rate = schedule(cfg)
    if cfg.optimizer == "adamw":
        return optax.adamw(rate, b1=0.9, b2=0.95, weight_decay=cfg.weight_decay, mask=decayed)
    if cfg.optimizer == "adam":
        return optax.adam(rate, b1=0.9, b2=0.95)
    return optax.sgd(rate, momentum=0.9 if cfg.optimizer == "momentum" else None)


def schedule(cfg: TrainerConfig) -> Any:
    """The learning rate: a number, or a function of the count of finished steps."""
    return optax.linear_schedule(0.0, cfg.learning_rate, cfg.warmup) if cfg.warmup else cfg.learning_rate


def learning_rate(cfg: TrainerConfig, steps: int) -> float:
    """The rate that the step behind `steps` finished ones uses, as the float32 it is."""
    rate = schedule(cfg)
    return float(jnp.float32(rate(jnp.int32(steps)) if callable(rate) else rate))


def described(cfg: TrainerConfig, steps: int) -> dict[str, Any]:
    """The schedule behind `steps` finished steps as JSON values: its parameters, its count, the next rate."""
    kind = "linear" if cfg.warmup else "constant"
    rate = learning_rate(cfg, steps)
    return {"kind": kind, "peak": cfg.learning_rate, "warmup": cfg.warmup, "count": steps, "rate": rate}


def decayed(params: Params) -> Any:
    """True for parameters with weight decay: all but the norm scales."""
    return jax.tree_util.tree_map_with_path(lambda path, _: path[-1].key != "scale", params)


def global_norm(grads: Params, specs: Any) -> jax.Array:
    """sqrt of the sum of squares over every element of every gradient, each counted once.

    Every device adds the squares it holds; then one scalar all-reduce for each distinct set of mesh axes in `specs`.
    A set that is empty (replicated gradients) needs none.
    """
    by_axes: dict[tuple[str, ...], list[tuple[jax.Array, PartitionSpec]]] = defaultdict(list)
    for grad, spec in zip(jax.tree.leaves(grads), jax.tree.leaves(specs), strict=True):
        by_axes[_axes(spec)].append((grad, spec))
    total = jnp.zeros((), jax.tree.leaves(grads)[0].dtype)
    for axes, group in by_axes.items():

        def squares(*local: jax.Array, axes: tuple[str, ...] = axes) -> jax.Array:
            mine = sum((jnp.sum(jnp.square(g)) for g in local), start=jnp.zeros((), local[0].dtype))
            return jax.lax.psum(mine, axes) if axes else mine

        leaves, places = zip(*group, strict=True)
        total += jax.shard_map(squares, in_specs=places, out_specs=PartitionSpec())(*leaves)
    return jnp.sqrt(total)


def clip(grads: Params, norm: jax.Array, limit: float | None) -> Params:
    """g * min(1, limit / norm)."""
    if limit is None:
        return grads
    factor = jnp.minimum(1.0, limit / jnp.maximum(norm, jnp.finfo(norm.dtype).tiny))
    return jax.tree.map(lambda g: g * factor, grads)


def update(
    tx: optax.GradientTransformation, grads: Params, opt_state: Any, params: Params, logical: Any, place: Placement
) -> tuple[Params, Any]:
    """One optimizer step: (new parameters, new slots).

    With optimizer axes (ZeRO-1, arXiv 1910.02054) gradients and parameters are sliced to the slots' placement,
    updated there, and the new parameters brought back by one all-gather of each in the master dtype. Without, no
    collective.
    """
    if not place.optimizer:
        updates, opt_state = tx.update(grads, opt_state, params)
        return jax.tree.map(jnp.add, params, updates), opt_state
    sliced = to_slots(params, logical, place)
    updates, opt_state = tx.update(to_slots(grads, logical, place), opt_state, sliced)
    new = jax.tree.map(jnp.add, sliced, updates)
    return jax.tree.map(lambda p, axes: reshard(p, place.spec(*axes)), new, logical), opt_state


def to_slots(tree: Params, logical: Any, place: Placement) -> Params:
    """A tree shaped like the parameters, in the placement of the optimizer slots."""
    return jax.tree.map(lambda p, axes: reshard(p, place.slot_spec(*axes)), tree, logical)


def _axes(spec: PartitionSpec) -> tuple[str, ...]:
    """The mesh axes of a spec, sorted."""
    return tuple(sorted(a for entry in spec if entry for a in (entry if isinstance(entry, tuple) else (entry,))))
