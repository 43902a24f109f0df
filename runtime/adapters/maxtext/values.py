"""Concrete values for `--run`: MaxText's own initialisation, and batches that show a lost shard or mask."""

# MaxText is not installed where types are checked: it needs a newer Python.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

SEED = 20_261_129


def example_of(
    cfg: Any, mesh: jax.sharding.Mesh, state: Any, batch: dict[str, Any]
) -> Callable[[int], tuple[tuple[Any, Any], dict[str, Any]]]:
    """`example(i)`: an initialised state for step 0 (later ones carry theirs over) and a batch for every step."""

    def example(index: int) -> tuple[tuple[Any, Any], dict[str, Any]]:
        filled = {
            name: jax.device_put(value, batch[name].sharding) for name, value in draw_batch(batch, cfg, index).items()
        }
        return (initial_state(cfg, mesh) if index == 0 else state, filled), {}

    return example


def initial_state(cfg: Any, mesh: jax.sharding.Mesh) -> Any:
    """The train state as MaxText starts from, placed."""
    from flax import nnx
    from maxtext.common import train_state_nnx
    from maxtext.optimizers import optimizers
    from maxtext.utils import maxtext_utils, model_creation_utils

    create, model = model_creation_utils.create_nnx_abstract_model(cfg, mesh)
    rate = maxtext_utils.create_learning_rate_schedule(cfg)
    optimizer = optimizers.get_optimizer(cfg, rate, model, mesh=mesh)

    def make() -> Any:
        fresh = create()
        return train_state_nnx.TrainStateNNX(fresh, nnx.Optimizer(fresh, optimizer, wrt=nnx.Param))

    return maxtext_utils.setup_training_state(None, cfg, mesh, None, make)[0]


def draw_batch(batch: dict[str, Any], cfg: Any, index: int) -> dict[str, np.ndarray]:
    """Texts of different lengths: every row is filled to another share, so that no two shards weigh alike.

    Tokens are below `vocab_size`; `*_position` counts along the sequence, `*_segmentation` is 1 up to the row's length
    and 0 behind it. An input of another name is drawn from 0 and 1.
    """
    rng = np.random.default_rng((SEED, index))
    shape = batch["inputs"].shape
    text = rng.integers(0, cfg.vocab_size, size=(*shape[:-1], shape[-1] + 1))
    length = np.linspace(0.5, 1.0, int(np.prod(shape[:-1])), endpoint=True).reshape((*shape[:-1], 1)) * shape[-1]
    column = np.broadcast_to(np.arange(shape[-1]), shape)
    known = {"inputs": text[..., :-1], "targets": text[..., 1:]}
    values = {}
    for name, leaf in batch.items():
        if name.endswith("_segmentation"):
            value: Any = column < length
        elif name.endswith("_position"):
            value = column if leaf.ndim == len(shape) else np.broadcast_to(column[..., None], leaf.shape)
        else:
            value = known[name] if name in known else rng.integers(0, 2, size=leaf.shape)
        values[name] = np.asarray(value).astype(leaf.dtype)
    return values
