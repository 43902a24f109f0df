"""The training loop of the reference trainer: batches in, losses out; one compile, nothing read back inside the
loop unless somebody asks. It begins anew, or behind the newest committed checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .data import ENTROPY
from .feed import Feed
from .step import TrainState, TrainStep

if TYPE_CHECKING:
    from .checkpoint import Checkpoints
    from .observe import Observer

METRICS = ("loss", "grad_norm", "tokens")


@dataclass(frozen=True)
class TrainingRun:
    """What a run left: `losses[i]` in nats for each token at its step i + 1, other metrics alike, and the last state.

    `first`: steps that were finished when it began.
    """

    losses: np.ndarray
    grad_norms: np.ndarray
    tokens: np.ndarray
    state: TrainState
    first: int = 0

    @property
    def excess(self) -> float:
        """Mean loss of the last tenth of the steps above the language's entropy, in nats for each token."""
        tail = self.losses[-max(1, len(self.losses) // 10) :]
        return float(np.mean(tail) - ENTROPY)


def train(
    step: TrainStep,
    steps: int,
    on_metrics: Callable[[int, dict[str, Any]], None] | None = None,
    checkpoints: Checkpoints | None = None,
    every: int = 1,
    observer: Observer | None = None,
) -> TrainingRun:
    """Runs until `steps` steps are finished, from the initial state or from the newest of `checkpoints`.

    `on_metrics(n, metrics)` gets the number of finished steps and device scalars; reading them makes the host wait for
    the step. Without it the metrics are fetched once, behind the last step. Every so many steps, and behind the last,
    the state is saved. Raises NotWritten where it, or an observation, cannot be written.
    """
    run = jax.jit(step.fn, donate_argnames=step.donate)
    feed = Feed(step)
    taken_up = checkpoints.restore(feed) if checkpoints is not None else None
    state, first = taken_up or (step.initial_state(), 0)
    history: list[dict[str, jax.Array]] = []
    for index in range(first, steps):
        batch = next(feed)
        if observer is not None:
            observer.before(index, state, batch)
        state, metrics = run(state, batch)
        history.append(metrics)
        if on_metrics is not None:
            on_metrics(index + 1, metrics)
        if observer is not None:
            observer.after(index + 1, metrics, state)
        if checkpoints is not None and ((index + 1) % every == 0 or index + 1 == steps):
            checkpoints.save(index + 1, state, feed)
    if checkpoints is not None:
        checkpoints.wait()
    values = jax.device_get(history)
    columns = {name: np.array([row[name] for row in values]) for name in METRICS}
    return TrainingRun(columns["loss"], columns["grad_norm"], columns["tokens"], state, first)
