"""What a run leaves beside its checkpoints, by the schema, cadence and place of a contract's `checkpoint.observations`:

    config.json                         the configuration, versions, and the digest of each section of the contract
    metrics.jsonl                       a line for each observed step: `step` (finished steps) and its numbers
    statistics-STEP.safetensors         for each array of `params`, `opt_state`, `grads` the numbers of STATISTICS
    batch-STEP.safetensors              the batch that step was given

A run that is taken up again goes on in the same files; it never rewrites what is there.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save

from ...contracts.model.checkpoint import ObservationsSection
from ...contracts.observations import CONFIG, METRICS, SCHEMA, STATISTICS, batch_file, statistics_file
from ..leaves import joined
from . import optim
from .checkpoint import versions
from .data import Batch
from .not_written import NotWritten, why
from .step import TrainState, TrainStep


class Observer:
    """Writes the observations of one run below `folder`, the folder of its steps. Raises NotWritten where it cannot."""

    def __init__(
        self,
        step: TrainStep,
        folder: str | Path,
        section: ObservationsSection,
        contract: Mapping[str, str] | None = None,
    ) -> None:
        self._step, self._section = step, section
        self._folder = Path(folder) / section.place
        self._folder.mkdir(parents=True, exist_ok=True)
        config = {
            "schema": SCHEMA,
            "config": asdict(step.cfg),
            "mesh": {str(name): int(size) for name, size in step.place.mesh.shape.items()},
            "contract": dict(contract or {}),
            "versions": versions(),
        }
        self._write(CONFIG, (json.dumps(config, indent=1, sort_keys=True) + "\n").encode())
        self._lines = _appending(self._folder / METRICS)
        self._summary = jax.jit(_summaries)
        self._gradients = jax.jit(step.loss_and_grads)
        self._grads: Any = None

    def before(self, steps: int, state: TrainState, batch: Batch) -> None:
        """Behind `steps` finished steps, and before the next one takes `state`."""
        number, asked = steps + 1, self._section
        if asked.batches is not None and number % asked.batches.every == 0:
            self._write(batch_file(number), save({name: np.asarray(value) for name, value in batch.items()}))
        if asked.statistics is not None and number % asked.statistics.every == 0 and "grads" in asked.statistics.of:
            self._grads = self._gradients(state, batch)[1]

    def after(self, steps: int, metrics: Mapping[str, Any], state: TrainState) -> None:
        """Behind the step that made them `steps`."""
        asked = self._section
        if steps % asked.metrics.every == 0:
            row = {name: float(value) for name, value in metrics.items()}
            row["learning_rate"] = optim.learning_rate(self._step.cfg, steps - 1)
            odd = sum(not math.isfinite(value) for value in row.values())
            line = {"step": steps, **{name: _json(value) for name, value in row.items()}, "not_finite": odd}
            try:
                self._lines.write(json.dumps(line) + "\n")
                self._lines.flush()
            except OSError as error:
                raise self._failed(METRICS, error) from error
        if asked.statistics is not None and steps % asked.statistics.every == 0:
            trees = {"params": state.params, "opt_state": state.opt_state, "grads": self._grads}
            chosen = {name: trees[name] for name in asked.statistics.of if trees.get(name) is not None}
            flat, _ = jax.tree_util.tree_flatten_with_path(self._summary(chosen))
            found = {joined(path): np.asarray(value, np.float64) for path, value in flat}
            # One entry: the library writes several in any order, and equal statistics are to be equal files.
            self._write(statistics_file(steps), save(found, {"statistics": json.dumps(STATISTICS)}))
            self._grads = None

    def close(self) -> None:
        self._lines.close()

    def _write(self, name: str, data: bytes) -> None:
        """All of a file or nothing of it. Raises NotWritten."""
        partial = self._folder / f".{name}.partial"
        try:
            partial.write_bytes(data)
            os.replace(partial, self._folder / name)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise self._failed(name, error) from error

    def _failed(self, name: str, error: OSError) -> NotWritten:
        return NotWritten(f"writing {name} in {self._folder} failed: {why(error)}")


def _summaries(trees: Any) -> Any:
    return jax.tree.map(_summary, trees)


def _summary(leaf: jax.Array) -> jax.Array:
    """The numbers of STATISTICS, over what is finite."""
    wide = leaf.astype(jnp.float32)
    finite = jnp.isfinite(wide)
    kept = jnp.where(finite, wide, 0)
    count = jnp.maximum(jnp.sum(finite), 1)
    least = jnp.min(jnp.where(finite, wide, jnp.inf), initial=jnp.inf)
    most = jnp.max(jnp.where(finite, wide, -jnp.inf), initial=-jnp.inf)
    norm = jnp.sqrt(jnp.sum(jnp.square(kept)))
    return jnp.stack([norm, jnp.sum(kept) / count, least, most, jnp.sum(jnp.isnan(wide)), jnp.sum(jnp.isinf(wide))])


def _json(value: float) -> float | str:
    """JSON has no word for what is not finite."""
    return value if math.isfinite(value) else str(value)


def _appending(path: Path) -> Any:
    """A file opened at its end; a last line that was cut by a kill is ended, so that the next is one by itself."""
    cut = path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
    lines = path.open("a", encoding="utf-8")
    if cut:
        lines.write("\n")
    return lines
