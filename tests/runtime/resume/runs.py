"""A small step with a `resumable` of its own, as a project might write it: numpy files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from savers import SAVERS

STATE = {name: jax.ShapeDtypeStruct((4,), jnp.float32) for name in ("w", "m")}
BATCH = jax.ShapeDtypeStruct((8, 4), jnp.float32)


def batch(index: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng((7, index)).standard_normal((8, 4)), jnp.float32)


def train_step(state: dict[str, jax.Array], batch: jax.Array, rate: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    momentum = 0.9 * state["m"] + grad
    return {"w": state["w"] - rate * momentum, "m": momentum}, {"loss": loss}


class Run:
    """The hook. Faults: `anew` finds no step, `weights` forgets the momentum, `frozen` has a cursor that stands still
    behind a resume, `schedule` begins again. `empty`, `stale` and `partial` tell of no state, of that of the start, of
    the weights alone; `silent` of nothing that a step sees. `late` saves once it is waited for."""

    def __init__(self, folder: str, fault: str | None, saver: str = "renamed") -> None:
        self.saver = SAVERS[saver]
        self.folder, self.fault, self.done, self.cursor, self.rate_at = Path(folder), fault, 0, 0, 0
        self.resumed = False
        self.arrays = self.first = {"w": jnp.zeros(4), "m": jnp.zeros(4)}
        self.step = jax.jit(train_step)

    def restore(self) -> int:
        steps = self.saver.steps(self.folder)
        if not steps or self.fault == "anew":
            return 0
        saved, about = self.saver.load(self.folder, max(steps))
        self.arrays = self.arrays | {name: jnp.asarray(value) for name, value in saved.items()}
        if self.fault == "weights":
            self.arrays["m"] = jnp.zeros(4)
        self.done, self.cursor, self.rate_at = about["step"], about["cursor"], about["step"]
        self.resumed = True
        if self.fault == "schedule":
            self.rate_at = 0
        return self.done

    def advance(self) -> dict[str, Any]:
        rows, rate = batch(self.cursor), jnp.float32(0.1 / (1 + self.rate_at))
        self.arrays, metrics = self.step(self.arrays, rows, rate)
        self.done, self.rate_at = self.done + 1, self.rate_at + 1
        if not (self.fault == "frozen" and self.resumed):
            self.cursor += 1
        return {} if self.fault == "silent" else {**metrics, "batch": rows, "learning_rate": rate}

    def save(self) -> None:
        self.saving = self.done, self.cursor
        if self.fault != "late":
            self._write()

    def wait(self) -> None:
        if self.fault == "late":
            self._write()

    def _write(self) -> None:
        step, cursor = self.saving
        arrays = {name: np.asarray(value) for name, value in self.arrays.items()}
        self.saver.save(self.folder, step, arrays, {"step": step, "cursor": cursor})

    def state(self) -> Any:
        arrays = self.first if self.fault == "stale" else self.arrays
        whole = {"params": {"w": arrays["w"]}, "opt_state": {"m": arrays["m"]}}
        return {} if self.fault == "empty" else {"params": whole["params"]} if self.fault == "partial" else whole


def build(
    mesh: jax.sharding.Mesh | None = None,
    fault: str | None = None,
    own: bool = True,
    loose: bool = False,
    saver: str = "renamed",
) -> Any:
    """Fault `mesh`: there is one mesh that it runs on. loose: weights and batches lie on the mesh, momentum is bound
    to no device, as `jax.jit(init)(params)` leaves it."""
    if fault == "mesh" and mesh is not None and mesh.shape["data"] == 1:
        raise ValueError("no batch is that large")

    def on_mesh(value: Any) -> Any:
        return jax.device_put(value, NamedSharding(mesh, PartitionSpec())) if loose and mesh is not None else value

    def example(index: int) -> Any:
        return ({"w": on_mesh(jnp.zeros(4)), "m": jnp.zeros(4)}, on_mesh(batch(index)), jnp.float32(0.1)), {}

    return SimpleNamespace(
        fn=train_step,
        args=(STATE, BATCH, jax.ShapeDtypeStruct((), jnp.float32)),
        carry={0: "state"},
        example=example,
        resumable=(lambda folder: Run(folder, fault, saver)) if own else None,
    )
