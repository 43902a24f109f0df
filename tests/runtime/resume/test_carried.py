"""What a step without a run of its own carries over: after a restore it lies as it lay when it was made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.resume.carried import Carried
from contract_lint.runtime.run.loop import Loop
from contract_lint.runtime.step import as_step

pytest.importorskip("orbax.checkpoint")


def made() -> dict[str, Any]:
    """One array that is bound to a device, and some that are bound to none."""
    bound = jax.device_put(np.arange(4, dtype=np.float32), jax.devices()[0])
    return {"bound": bound, "loose": jnp.zeros(4), "key": jax.random.key(3), "host": np.float32(2)}


def step(state: dict[str, Any], batch: Any) -> tuple[dict[str, Any], Any]:
    moved = {name: state[name] + batch.sum() for name in ("bound", "loose", "host")}
    return moved | {"key": jax.random.fold_in(state["key"], 1)}, moved["loose"].sum()


def run(folder: Path) -> Carried:
    given = SimpleNamespace(fn=step, args=(made(), jnp.ones(2)), carry={0: "state"}, example=_example)
    normalised = as_step(given)
    return Carried(normalised, Loop(normalised, None, FramePaths(folder), {}), str(folder))


def _example(index: int) -> Any:
    return (made(), jnp.full(2, float(index))), {}


def test_what_was_bound_to_no_device_is_bound_to_none_again(tmp_path: Path) -> None:
    before = run(tmp_path)
    assert before.restore() == 0
    before.advance()
    before.save()
    before.wait()
    after = run(tmp_path)
    assert after.restore() == 1
    jax.tree.map(np.testing.assert_array_equal, after.state(), before.state())
    state = after.arguments()[0][0]
    assert {name: leaf.committed for name, leaf in state.items()} == {
        **{"bound": True, "loose": False, "key": False, "host": False}
    }
