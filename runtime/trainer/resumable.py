"""The reference trainer as a run that can be stopped: the hook `resumable` of its step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from . import optim
from .checkpoint import Checkpoints
from .feed import Feed
from .step import TrainState, TrainStep


class TrainerRun:
    """One process of a run whose steps are saved in `folder`."""

    def __init__(self, step: TrainStep, folder: str) -> None:
        self._step = step
        self._checkpoints = Checkpoints(step, folder)
        self._feed = Feed(step)
        self._run = jax.jit(step.fn, donate_argnames=step.donate)
        self._state: TrainState | None = None
        self._done = 0
        self._batch: Any = None

    def restore(self) -> int:
        taken_up = self._checkpoints.restore(self._feed)
        self._state, self._done = taken_up or (self._step.initial_state(), 0)
        return self._done

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Those of the next step, which will use them."""
        self._batch = next(self._feed) if self._batch is None else self._batch
        return (self._state, self._batch), {}

    def advance(self) -> Mapping[str, Any]:
        (state, batch), _ = self.arguments()
        self._batch = None
        root = jax.random.key(self._step.cfg.seed)
        seen = {
            "batch": jax.device_get(batch),
            "rng": np.asarray(jax.random.key_data(jax.random.fold_in(root, state.step))),
            "learning_rate": optim.learning_rate(self._step.cfg, self._done),
        }
        self._state, metrics = self._run(state, batch)
        self._done += 1
        return {**metrics, **seen}

    def state(self) -> Any:
        assert self._state is not None
        return {"params": self._state.params, "opt_state": self._state.opt_state, "step": self._state.step}

    def save(self) -> None:
        assert self._state is not None and self._batch is None
        self._checkpoints.save(self._done, self._state, self._feed)

    def wait(self) -> None:
        self._checkpoints.wait()
