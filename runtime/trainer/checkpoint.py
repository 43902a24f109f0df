"""Checkpoints of the reference trainer, through Orbax: saved in the background, committed by a rename, restored onto
any mesh. Each holds all that a resume needs, and each part is an item or a leaf that a contract can name:

    state/params, state/opt_state, state/step     the arrays, every optimizer slot among them
    state/rng                                     words of the key that all random numbers of the run come from
    state/tokens                                  tokens given to all steps together
    data                                          the progress record: cursor, identity of the data, mixture
    schedule                                      the learning rate's parameters, its count and its next value
    versions, contract                            packages; the digest of each section of the contract
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from ... import __version__
from . import optim
from .feed import Feed
from .not_written import NotWritten, why
from .step import TrainState, TrainStep

ITEMS = ("state", "data", "schedule", "versions", "contract")
PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "tensorstore", "numpy", "grain")


class Refused(ValueError):
    """What is saved cannot be taken up by this run; says what differs."""


class Checkpoints:
    """The folder of one run's steps. `contract`: digests by section; `last` and `every`: which steps stay."""

    def __init__(
        self,
        step: TrainStep,
        folder: str | Path,
        contract: Mapping[str, str] | None = None,
        last: int | None = None,
        every: int | None = None,
    ) -> None:
        self._step = step
        self._contract = dict(contract or {})
        self._begun = 0
        # What a killed save left under a temporary name would stand in the way of the same step.
        options = ocp.CheckpointManagerOptions(max_to_keep=last, keep_period=every, cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(Path(folder).resolve(), options=options, item_names=ITEMS)

    @property
    def latest(self) -> int | None:
        """The newest committed step."""
        return self._manager.latest_step()

    def save(self, steps: int, state: TrainState, feed: Feed) -> None:
        """Copy what is saved behind `steps` finished steps to the host, and write it in the background, when all that
        was begun before is committed. Raises NotWritten for either."""
        self.wait()
        self._begun = steps
        position = feed.position(steps)
        tree = self._tree(state) | {"tokens": np.asarray(position["tokens"], np.int64)}
        whole = ocp.args.Composite(
            state=ocp.args.StandardSave(tree),
            data=ocp.args.JsonSave(position),
            schedule=ocp.args.JsonSave(optim.described(self._step.cfg, steps)),
            versions=ocp.args.JsonSave(versions()),
            contract=ocp.args.JsonSave(self._contract),
        )
        with self._told():
            self._manager.save(steps, args=whole, force=True)

    def restore(self, feed: Feed) -> tuple[TrainState, int] | None:
        """The newest committed step, in the placement of this run's mesh; None where there is none.

        Raises Refused where the seed, the schedule or the data is another than when it was saved, or a part is missing.
        """
        number = self.latest
        if number is None:
            return None
        missing = [name for name in ITEMS if not (Path(str(self._manager.directory)) / str(number) / name).is_dir()]
        if missing:
            raise Refused(f"step {number} of {self._manager.directory} is no whole run: {', '.join(missing)} missing")
        wanted = jax.tree.map(_abstract, self._tree(self._step.args[0])) | {"tokens": np.zeros((), np.int64)}
        read = ocp.args.JsonRestore
        found = self._manager.restore(
            number,
            args=ocp.args.Composite(state=ocp.args.StandardRestore(wanted), data=read(), schedule=read()),
        )
        tree = found["state"]
        self._same("the seed", found["data"].get("seed"), self._step.cfg.seed)
        self._same("the random key", np.asarray(tree["rng"]).tolist(), self._root().tolist())
        here = optim.described(self._step.cfg, number)
        for name, value in here.items():
            self._same(f"`{name}` of the schedule", found["schedule"].get(name), value)
        try:
            feed.resume(found["data"])
        except ValueError as error:
            raise Refused(str(error)) from None
        return TrainState(tree["params"], tree["opt_state"], tree["step"]), number

    def wait(self) -> None:
        """Until what was begun is committed. Raises NotWritten where it cannot be."""
        with self._told():
            self._manager.wait_until_finished()

    def close(self) -> None:
        self._manager.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What Orbax and TensorStore raise of a save, as NotWritten: a full disk alone has errors of many kinds."""
        try:
            yield
        except Exception as error:
            said = f"saving step {self._begun:,} in {self._manager.directory} failed: {why(error)}"
            raise NotWritten(said) from error

    def _tree(self, state: TrainState) -> dict[str, Any]:
        return {"params": state.params, "opt_state": state.opt_state, "step": state.step, "rng": self._root()}

    def _root(self) -> np.ndarray:
        return np.asarray(jax.random.key_data(jax.random.key(self._step.cfg.seed)))

    def _same(self, what: str, saved: Any, here: Any) -> None:
        if saved != here:
            raise Refused(f"{what} was {saved} when it was saved, and is {here} now")


def versions() -> dict[str, str]:
    """Of Python, of this package and of all that takes part in a step or its data, where it is installed."""
    found = {"python": platform.python_version(), "jax-contract-lint": __version__}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _abstract(leaf: Any) -> Any:
    return leaf if isinstance(leaf, np.ndarray) else ocp.utils.to_shape_dtype_struct(leaf)
