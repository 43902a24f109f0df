"""What a state lacks of what its step carries over: by value, or by size and dtype where the run gives no arguments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.runtime.resume.held import lacking
from contract_lint.runtime.step import as_step

STATE = {"w": jnp.arange(6.0).reshape(2, 3), "m": jnp.ones((2, 3)), "step": jnp.int32(3), "key": jax.random.key(1)}
WHOLE = {"w": STATE["w"], "m": STATE["m"], "step": STATE["step"], "key": jax.random.key_data(STATE["key"])}
STEP = as_step(SimpleNamespace(fn=lambda state, batch: (state, 0), args=(STATE, jnp.ones(4)), carry={0: "state"}))
GIVEN = (STATE, jnp.ones(4)), {}


def but(**other: Any) -> dict[str, Any]:
    return {name: value for name, value in (WHOLE | other).items() if value is not None}


@pytest.mark.parametrize("given", [GIVEN, None])
@pytest.mark.parametrize(
    ("state", "lacks"),
    [
        (WHOLE, []),
        ({f"deeper/{name}": np.asarray(value) for name, value in WHOLE.items()}, []),
        (but(step=3, w=np.arange(6, dtype=np.float32)), []),
        (but(m=None), ["state/m"]),
        (but(key=None, step=None), ["state/key", "state/step"]),
        ({}, ["state/key", "state/m", "state/step", "state/w"]),
    ],
)
def test_what_is_not_there_is_named(given: Any, state: dict[str, Any], lacks: list[str]) -> None:
    assert sorted(lacking(STEP, given, state) or []) == lacks


def test_another_array_in_its_place_is_told_by_value_alone() -> None:
    constant = but(m=jnp.zeros((2, 3)))
    assert (lacking(STEP, GIVEN, constant), lacking(STEP, None, constant)) == (["state/m"], [])


def test_a_step_that_does_not_say_what_it_carries_is_not_looked_at() -> None:
    assert lacking(as_step(SimpleNamespace(fn=lambda state: state, args=(STATE,))), None, {}) is None
