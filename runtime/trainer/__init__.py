"""The reference trainer: a scanned decoder on one Explicit mesh; data parallel, ZeRO-1, FSDP, tensor parallel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.sharding import Mesh

from .config import PRESETS, TrainerConfig, configure
from .mesh import Axes, Placement, placement
from .step import TrainState, TrainStep

__all__ = ["PRESETS", "Placement", "TrainState", "TrainStep", "TrainerConfig", "build", "configure", "placement"]


def build(
    mesh: Mesh,
    preset: str = "tiny",
    logical_axes: Mapping[str, Axes] | None = None,
    batch_axes: Axes = None,
    optimizer_axes: Axes = None,
    seed: int = 0,
    **overrides: Any,
) -> TrainStep:
    """The step of a preset on a mesh; abstract, nothing is put on a device.

    logical_axes: `embed`, `heads`, `mlp`, `vocab`, `layer` -> mesh axes; batch_axes: of the batch dimension;
    optimizer_axes: over which slots are split further (ZeRO-1); defaults as in `placement`. seed, overrides:
    fields of `TrainerConfig`. Raises ValueError for unknown settings, unknown axes and sizes that do not fit.
    """
    return TrainStep(
        configure(preset, seed=seed, **overrides), placement(mesh, logical_axes, batch_axes, optimizer_axes)
    )
