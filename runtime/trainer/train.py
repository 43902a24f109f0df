"""The training loop of the reference trainer: batches in, losses out; one compile, nothing read back inside the
loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import jax
import numpy as np

from .data import ENTROPY, Batch
from .step import TrainState, TrainStep


@dataclass(frozen=True)
class TrainingRun:
    """What a run left: `losses[i]` in nats for each token at step i, other metrics likewise, and the last state."""

    losses: np.ndarray
    grad_norms: np.ndarray
    tokens: np.ndarray
    state: TrainState

    @property
    def excess(self) -> float:
        """Mean loss of the last tenth of the steps above the language's entropy, in nats for each token."""
        tail = self.losses[-max(1, len(self.losses) // 10) :]
        return float(np.mean(tail) - ENTROPY)


def batches(step: TrainStep) -> Iterator[Batch]:
    """The batches of a run, on the devices: packed ones are read through grain, others drawn by their number."""
    if not step.cfg.packed:
        yield from map(step.batch, count())
        return
    from .reader import reader

    for values in reader(step.cfg, jax.process_index(), jax.process_count()):
        yield {
            name: jax.make_array_from_process_local_data(step.args[1][name].sharding, value)
            for name, value in values.items()
        }


def train(step: TrainStep, steps: int, on_metrics: Callable[[int, dict[str, Any]], None] | None = None) -> TrainingRun:
    """Runs `steps` steps from the initial state over the batches of the synthetic language.

    `on_metrics(i, metrics)` gets device scalars; reading them makes the host wait for the step. Without it the
    metrics are fetched once, behind the last step.
    """
    run = jax.jit(step.fn, donate_argnames=step.donate)
    state = step.initial_state()
    history: list[dict[str, jax.Array]] = []
    for index, batch in zip(range(steps), batches(step), strict=False):
        state, metrics = run(state, batch)
        history.append(metrics)
        if on_metrics is not None:
            on_metrics(index, metrics)
    values = jax.device_get(history)
    columns = {name: np.array([row[name] for row in values]) for name in ("loss", "grad_norm", "tokens")}
    return TrainingRun(columns["loss"], columns["grad_norm"], columns["tokens"], state)
